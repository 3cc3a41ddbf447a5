package kinds

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

// endpointSlice declares EndpointSlices, whose endpoints belong to some kinds of backends.
func endpointSlice(backends []*kind.Kind) *kind.Kind {
	labels := sliceLabelsOf(backends)
	k := kind.Kind{
		Kind: model.KindEndpointSlice, Plural: "endpointslices", Short: []string{"eps"}, Versions: []string{"v1"},
		Fades: true, Cacheable: true,
		Owners: labels.owners,
	}
	k.Content = kind.BuiltInContent(kind.BuiltInKind[discoveryv1.EndpointSlice, input.EndpointSliceSpec]{
		Install: discoveryv1.AddToScheme, EditField: "endpoints",
		ContentOf: func(s *discoveryv1.EndpointSlice) *input.EndpointSliceSpec {
			return &input.EndpointSliceSpec{AddressType: s.AddressType, Endpoints: s.Endpoints, Ports: s.Ports}
		},
		Default: defaultEndpointSlice, Validate: validateEndpointSlice,
		Trim: labels.trim,
		Fingerprint: func(s *input.EndpointSliceSpec) kind.Marshaler {
			return &discoveryv1.EndpointSlice{AddressType: s.AddressType, Endpoints: s.Endpoints, Ports: s.Ports}
		},
		Show: func(t metav1.TypeMeta, m metav1.ObjectMeta, s *input.EndpointSliceSpec) any {
			return discoveryv1.EndpointSlice{
				TypeMeta: t, ObjectMeta: m, AddressType: s.AddressType, Endpoints: s.Endpoints, Ports: s.Ports,
			}
		},
	})
	k.Columns = []kind.Column{
		fieldColumn("ADDRESSTYPE", "addressType"),
		{Title: "PORTS", CellText: func(o kind.JSONObject) string {
			return orDefault(eachOf(o.ObjectsAt("ports"), "port"),
				"<unset>")
		}},
		{Title: "ENDPOINTS", CellText: func(o kind.JSONObject) string {
			var all []string
			for _, e := range o.ObjectsAt("endpoints") {
				all = append(all, e.TextsAt("addresses")...)
			}
			return joinWords(all)
		}},
	}
	return &k
}

// owners lists the objects that a slice's endpoints belong to: a Service, another backend, both, or none.
func (all sliceLabels) owners(ref model.ObjectRef, labels model.Labels, spec any) (owners []model.ObjectRef) {
	if len(spec.(*input.EndpointSliceSpec).Endpoints) == 0 {
		return nil
	}
	for _, l := range all {
		if name := labels.Get(l.key); name != "" {
			owners = append(owners, model.Ref(l.kind, ref.Namespace(), name))
		}
	}
	return owners
}

// sliceLabels say which objects a slice's endpoints belong to.
type sliceLabels []struct {
	key  string
	kind model.Kind
}

func sliceLabelsOf(backends []*kind.Kind) (all sliceLabels) {
	for _, b := range backends {
		if key := b.Backend.SliceLabel; key != "" {
			all = append(all, struct {
				key  string
				kind model.Kind
			}{key, b.Kind})
		}
	}
	return all
}

// trim keeps addresses, whether they are to be used, and the labels that name their owners.
func (all sliceLabels) trim(
	labels map[string]string, s *input.EndpointSliceSpec,
) (map[string]string, *input.EndpointSliceSpec) {
	var own map[string]string
	for _, l := range all {
		if value := labels[l.key]; value != "" {
			if own == nil {
				own = make(map[string]string, 1)
			}
			own[l.key] = value
		}
	}
	endpoints := clipSlice(s.Endpoints)
	for i, e := range endpoints {
		endpoints[i] = discoveryv1.Endpoint{Addresses: e.Addresses, Conditions: discoveryv1.EndpointConditions{
			Ready: internBool(e.Conditions.Ready), Serving: internBool(e.Conditions.Serving),
			Terminating: internBool(e.Conditions.Terminating),
		}}
	}
	return own, &input.EndpointSliceSpec{AddressType: s.AddressType, Endpoints: endpoints, Ports: clipSlice(s.Ports)}
}

const (
	maxEndpoints = 1000
	maxAddresses = 100
	maxPorts     = 20000
)

func defaultEndpointSlice(e *discoveryv1.EndpointSlice) {
	for i := range e.Ports {
		p := &e.Ports[i]
		if p.Name == nil {
			p.Name = new(string)
		}
		if p.Protocol == nil {
			p.Protocol = new(corev1.ProtocolTCP)
		}
	}
}

// validateEndpointSlice differs from an API server in one rule: loopback addresses are welcome, since with a folder the
// backends often run beside the proxy.
func validateEndpointSlice(e *discoveryv1.EndpointSlice) field.ErrorList {
	var errs field.ErrorList
	types := sets.New(discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6, discoveryv1.AddressTypeFQDN)
	switch {
	case e.AddressType == "":
		return field.ErrorList{field.Required(field.NewPath("addressType"), "IPv4, IPv6 or FQDN")}
	case !types.Has(e.AddressType):
		return field.ErrorList{field.NotSupported(field.NewPath("addressType"), e.AddressType, sets.List(types))}
	}
	endpoints := field.NewPath("endpoints")
	if len(e.Endpoints) > maxEndpoints {
		errs = append(errs, field.TooMany(endpoints, len(e.Endpoints), maxEndpoints))
	}
	for i, endpoint := range e.Endpoints {
		errs = append(errs, validateAddresses(e.AddressType, endpoint.Addresses, endpoints.Index(i).Child("addresses"))...)
	}
	return append(errs, validateEndpointPorts(e.Ports)...)
}

func validateAddresses(kind discoveryv1.AddressType, addresses []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case len(addresses) == 0:
		return field.ErrorList{field.Required(path, "at least one address")}
	case len(addresses) > maxAddresses:
		return field.ErrorList{field.TooMany(path, len(addresses), maxAddresses)}
	}
	for i, address := range addresses {
		at := path.Index(i)
		switch kind {
		case discoveryv1.AddressTypeIPv4:
			if ip, err := netip.ParseAddr(address); err != nil || !ip.Is4() {
				errs = append(errs, field.Invalid(at, address, "must be an IPv4 address"))
			}
		case discoveryv1.AddressTypeIPv6:
			if ip, err := netip.ParseAddr(address); err != nil || !ip.Is6() || ip.Zone() != "" {
				errs = append(errs, field.Invalid(at, address, "must be an IPv6 address"))
			}
		case discoveryv1.AddressTypeFQDN:
			errs = append(errs, validation.IsFullyQualifiedDomainName(at, address)...)
		}
	}
	return errs
}

func validateEndpointPorts(ports []discoveryv1.EndpointPort) field.ErrorList {
	var errs field.ErrorList
	path := field.NewPath("ports")
	if len(ports) > maxPorts {
		errs = append(errs, field.TooMany(path, len(ports), maxPorts))
	}
	names := sets.New[string]()
	for i, p := range ports {
		at := path.Index(i)
		if names.Has(*p.Name) {
			errs = append(errs, field.Duplicate(at, map[string]any{"name": *p.Name}))
		}
		names.Insert(*p.Name)
		if *p.Name != "" {
			for _, m := range validation.IsDNS1123Label(*p.Name) {
				errs = append(errs, field.Invalid(at.Child("name"), *p.Name, m))
			}
		}
		errs = append(errs, validateProtocol(*p.Protocol, at.Child("protocol"))...)
		if p.Port != nil {
			for _, m := range validation.IsValidPortNum(int(*p.Port)) {
				errs = append(errs, field.Invalid(at.Child("port"), *p.Port, m))
			}
		}
	}
	return errs
}
