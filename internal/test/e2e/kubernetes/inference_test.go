package kubernetes

import (
	"fmt"
	"math"
	"net/http"
	"testing"
)

// TestInferenceConformance has the 14 tests of the conformance suite of Gateway API Inference Extension v1.6, by their
// names. docs/conformance tells what each requires, and where these require more.
func TestInferenceConformance(t *testing.T) {
	s := newInference(t)
	for _, test := range []struct {
		name string
		run  func(*inference)
	}{
		{"InferencePoolAccepted", (*inference).poolAccepted},
		{"InferencePoolMissingEPPRef", (*inference).missingPicker},
		{"InferencePoolInvalidEPPService", (*inference).invalidPicker},
		{"HTTPRouteInvalidInferencePoolRef", (*inference).invalidPool},
		{"InferencePoolResolvedRefsCondition", (*inference).sharedPool},
		{"InferencePoolHTTPRoutePortValidation", (*inference).portsOfReferences},
		{"InferencePoolAppProtocol", (*inference).appProtocol},
		{"HTTPRouteMultipleRulesDifferentPools", (*inference).poolsOfRules},
		{"HTTPRouteMultipleGatewaysDifferentPools", (*inference).poolsOfGateways},
		{"GatewayFollowingEPPRouting", (*inference).followsPicker},
		{"GatewayFollowingEPPRoutingWithDataParallelism", (*inference).followsPickerToRanks},
		{"GatewayDestinationEndpointServed", (*inference).tellsWhoServed},
		{"GatewayWeightedAcrossTwoInferencePools", (*inference).weights},
		{"EppUnAvailableFailOpen", (*inference).failsOpen},
	} {
		t.Run(test.name, func(t *testing.T) {
			stage, of := *s.stage, *s
			stage.T, of.stage = t, &stage
			test.run(&of)
		})
	}
}

func (s *inference) poolAccepted() {
	s.route("accepted", firstGateway, firstHost, toPools("/accepted", "primary"))
	s.serves("accepted", firstGateway, "primary")
	s.comesTo("primary", inferenceCall{gateway: firstGateway, host: firstHost, path: "/accepted"})
}

// missingPicker: the suite takes a pool that is not Accepted, too.
func (s *inference) missingPicker() {
	s.apply(inferencePool(s.namespace, "without-picker", "primary", []int{3000}, ""))
	s.route("without-picker", firstGateway, firstHost, toPools("/without-picker", "without-picker"))
	s.live("without-picker")
	s.poolIs("without-picker", firstGateway, "Accepted=True")
	s.becomes(inferenceCall{gateway: firstGateway, host: firstHost, path: "/without-picker"},
		func(a inferenceAnswer) bool { return by("primary")(a.answer) })
}

func (s *inference) invalidPicker() {
	s.apply(inferencePool(s.namespace, "invalid-picker", "primary", []int{3000},
		", endpointPickerRef: {name: absent, port: {number: 9002}}"))
	s.route("invalid-picker", firstGateway, firstHost, toPools("/invalid-picker", "invalid-picker"))
	s.live("invalid-picker")
	s.poolIs("invalid-picker", firstGateway, "Accepted=True Accepted", "ResolvedRefs=False InvalidExtensionRef")
	s.becomes(inferenceCall{gateway: firstGateway, host: firstHost, path: "/invalid-picker"},
		isStatus(http.StatusServiceUnavailable))
}

func (s *inference) invalidPool() {
	s.route("invalid-pool", firstGateway, firstHost, toPools("/invalid-pool", "absent"))
	s.routeIs("invalid-pool", "Accepted=True Accepted", "ResolvedRefs=False BackendNotFound")
	s.becomes(inferenceCall{gateway: firstGateway, host: firstHost, path: "/invalid-pool"},
		isStatus(http.StatusInternalServerError))
}

func (s *inference) sharedPool() {
	const accepted = " Accepted=True ResolvedRefs=True"
	first := inferenceCall{gateway: firstGateway, host: firstHost, path: "/first", get: true}
	second := inferenceCall{gateway: secondGateway, host: secondHost, path: "/second", get: true}
	s.route("first", firstGateway, firstHost, toPools("/first", "primary"))
	s.route("second", secondGateway, secondHost, toPools("/second", "primary"))
	s.serves("first", firstGateway, "primary")
	s.serves("second", secondGateway, "primary")
	s.poolParents(s.pools, "primary", firstGateway+accepted+", "+secondGateway+accepted)
	s.comesTo("primary", first)
	s.comesTo("primary", second)
	s.deleteRoute("first")
	s.poolParents(s.pools, "primary", secondGateway+accepted)
	s.comesTo("primary", second)
	s.becomes(first, isStatus(http.StatusNotFound))
	s.deleteRoute("second")
	s.poolParents(s.pools, "primary", "")
	s.becomes(second, isStatus(http.StatusNotFound))
}

func (s *inference) portsOfReferences() {
	for name, port := range map[string]string{"absent": "", "equal": ", port: 3000", "different": ", port: 8000"} {
		s.route("port-"+name, firstGateway, "port-"+name+".example.com", toPools("/port", "primary"+port))
		s.serves("port-"+name, firstGateway, "primary")
		for _, pod := range s.pods["primary"] {
			s.comesTo("primary", inferenceCall{
				gateway: firstGateway, host: "port-" + name + ".example.com", path: "/port", only: pod.Status.PodIP,
			})
		}
	}
}

func (s *inference) appProtocol() {
	for pool, port := range map[string]int{"h2c": 3001, "http": 3000, "primary": 3000} {
		s.route("protocol-"+pool, firstGateway, "protocol-"+pool+".example.com", toPools("/protocol", pool))
		s.serves("protocol-"+pool, firstGateway, pool)
		for _, pod := range s.pods[testedPools[poolNamed(pool)].app] {
			s.comesTo(pool, inferenceCall{
				gateway: firstGateway, host: "protocol-" + pool + ".example.com", path: "/protocol",
				only: fmt.Sprintf("%s:%d", pod.Status.PodIP, port),
			})
		}
	}
}

func (s *inference) poolsOfRules() {
	s.route("rules", firstGateway, firstHost, toPools("/to-primary", "primary"), toPools("/to-secondary", "secondary"))
	s.serves("rules", firstGateway, "primary", "secondary")
	for _, pool := range []string{"primary", "secondary"} {
		for _, get := range []bool{true, false} { // the picker may name pods of both, if it likes
			s.comesTo(pool, inferenceCall{gateway: firstGateway, host: firstHost, path: "/to-" + pool, get: get,
				only: s.addressesOf("primary", 0) + "," + s.addressesOf("secondary", 0)})
		}
	}
}

func (s *inference) poolsOfGateways() {
	s.route("first", firstGateway, firstHost, toPools("/gateways", "primary"))
	s.route("second", secondGateway, secondHost, toPools("/gateways", "secondary"))
	s.serves("first", firstGateway, "primary")
	s.serves("second", secondGateway, "secondary")
	for _, get := range []bool{true, false} {
		s.comesTo("primary", inferenceCall{gateway: firstGateway, host: firstHost, path: "/gateways", get: get})
		s.comesTo("secondary", inferenceCall{gateway: secondGateway, host: secondHost, path: "/gateways", get: get})
	}
}

func (s *inference) followsPicker() {
	s.route("follows", firstGateway, firstHost, toPools("/follows", "primary"))
	s.serves("follows", firstGateway, "primary")
	c := inferenceCall{gateway: firstGateway, host: firstHost, path: "/follows"}
	for i := range replicas {
		c.only = s.addressesOf("primary", i)
		s.comesTo("primary", c)
	}
	for _, pods := range [][]int{{2}, {0, 2}, {0, 1, 2}} {
		c.only = s.addressesOf("primary", pods...)
		s.only100("primary", c, len(pods))
	}
}

func (s *inference) followsPickerToRanks() {
	s.route("ranks", firstGateway, firstHost, toPools("/ranks", "data-parallel"))
	s.serves("ranks", firstGateway, "data-parallel")
	address := func(i int) string { return s.addressesOf("data-parallel", i) }
	c := inferenceCall{gateway: firstGateway, host: firstHost, path: "/ranks"}
	for i := range replicas {
		c.only = address(i)
		s.comesTo("data-parallel", c)
	}
	for only, endpoints := range map[string]int{
		address(1):                              3,
		address(0) + "," + address(2) + ":3002": 4,
		address(0) + "," + address(1) + ":3000," + address(1) + ":3004," + address(2): 8,
	} {
		c.only = only
		s.only100("data-parallel", c, endpoints)
	}
}

func (s *inference) tellsWhoServed() {
	s.route("served", firstGateway, firstHost, toPools("/served", "primary"))
	s.serves("served", firstGateway, "primary")
	for i, pod := range s.pods["primary"] {
		s.becomes(inferenceCall{gateway: firstGateway, host: firstHost, path: "/served", only: s.addressesOf("primary", i)},
			func(a inferenceAnswer) bool {
				return a.Status == http.StatusOK && a.Pod == pod.Name && a.served == pod.Status.PodIP+":3000"
			})
	}
}

func (s *inference) weights() {
	const n, share, deviations = 200, 0.7, 4.5
	s.route("weights", firstGateway, firstHost, toPools("/weights", "primary, weight: 70", "secondary, weight: 30"))
	s.serves("weights", firstGateway, "primary", "secondary")
	c := inferenceCall{gateway: firstGateway, host: firstHost, path: "/weights",
		only: s.addressesOf("primary", 0, 1, 2) + "," + s.addressesOf("secondary", 0, 1, 2)}
	right := func(a inferenceAnswer) error { return s.follows(c, a, "primary", "secondary") }
	s.becomes(c, func(a inferenceAnswer) bool { return right(a) == nil })
	counts := s.many(n, 5, c, right, func(a inferenceAnswer) string { return a.picker })
	got, tolerance := float64(counts["primary"])/n, deviations*math.Sqrt(share*(1-share)/n)
	if math.Abs(got-share) > tolerance {
		s.Errorf("%v: pool primary has a share of %.3f, want %.2f ± %.3f", counts, got, share, tolerance)
	}
}
