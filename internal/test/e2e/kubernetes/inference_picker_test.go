package kubernetes

import (
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"cardea.dev/cardea/internal/test/e2e"
)

// The words of the inference suite.
const (
	selection    = "Test-Epp-Endpoint-Selection"        // of a request: what may be named, "IP" or "IP:PORT", by commas
	servedHeader = "X-Conformance-Test-Served-Endpoint" // of an answer: who has served it, as the picker was told
)

// Words of our own.
const (
	pickerHeader = "X-Test-Picker" // of an answer: the name of the picker that was asked
	pickWhen     = "X-Pick-When"   // of a request: "early" has the picker answer before it has the body
)

const pickerPort = 9002

// pickerCommand is the first argument with which this program is a picker, in a pod: its name and the endpoints of its
// pool follow.
const pickerCommand = "picker"

// runPicker serves as a picker until it fails.
func runPicker(name string, members ...string) error {
	l, err := net.Listen("tcp", ":"+strconv.Itoa(pickerPort))
	if err != nil {
		return err
	}
	var turn atomic.Uint64
	return e2e.PickerServer(func(h http.Header) e2e.Pick {
		pick := e2e.Pick{Early: h.Get(pickWhen) == "early", Answered: func(served string) map[string]string {
			if served == "" {
				served = "fail: the proxy does not tell"
			}
			return map[string]string{servedHeader: served, pickerHeader: name}
		}}
		may := slices.DeleteFunc(slices.Clone(members), func(m string) bool { return !selects(h.Get(selection), m) })
		if len(may) == 0 {
			pick.Fault = e2e.Refuse
			return pick
		}
		pick.Endpoints = may[turn.Add(1)%uint64(len(may))]
		return pick
	}).Serve(l)
}

// selects tells whether an endpoint is among those that a request selects: all of them if it says nothing.
func selects(only, endpoint string) bool {
	address, _, _ := net.SplitHostPort(endpoint)
	list := strings.Split(only, ",")
	return only == "" || slices.Contains(list, endpoint) || slices.Contains(list, address)
}

// pickerPod runs this program as a picker, with the label app.
func (s *stage) pickerPod(app, name string, members []string) *corev1.Pod {
	s.Helper()
	program, err := os.Executable()
	if err != nil {
		s.Fatal(err)
	}
	p := pod(s.namespace, app, e2e.Agent{Command: []string{program, pickerCommand, name}, Files: []string{program}},
		members...)
	p.Labels = map[string]string{"app": app}
	p.Spec.Containers[0].ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
		TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(pickerPort)},
	}, PeriodSeconds: 1}
	return p
}
