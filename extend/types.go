package extend

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// StringMatch compares a text.
//
// +structType=atomic
type StringMatch struct {
	// Type says how. An expression (RE2) must match all of the text.
	Type TextMatchType `json:"type"`
	// Value is what the text is compared with.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
	// IgnoreCase takes small and capital letters (a to z) for the same.
	// +optional
	IgnoreCase bool `json:"ignoreCase,omitempty"`
}

// Validate tells what of it can't be served.
func (m StringMatch) Validate() []Problem {
	return collectProblems(func(f problemList) {
		switch {
		case !slices.Contains(textMatchTypes, m.Type):
			f.atField("type").addProblem("%q is not a type; write Exact, Prefix, Suffix, Contains or RegularExpression", m.Type)
		case m.Value == "":
			f.atField("value").addProblem("it is empty; write what the text is compared with")
		default:
			checkValue(f.atField("value"), MatchType(m.Type), m.Value, m.IgnoreCase)
		}
	})
}

// Empty is a member of a union without fields: {}.
type Empty struct{}

// RequestDimension is a part of a request that tells requests apart, as for limits: each value has a counter.
//
// +structType=atomic
// +kubebuilder:validation:MinProperties=1
// +kubebuilder:validation:MaxProperties=1
type RequestDimension struct {
	// ClientAddress is the client's address, or the network that it is in.
	// +optional
	ClientAddress *AddressDimension `json:"clientAddress,omitempty"`
	// Header is the name of a header.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Header *string `json:"header,omitempty"`
	// Claim is the name of a claim of the accepted token, with dots between the names of nested claims; a dot in a name
	// is written with a backslash before it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Claim *string `json:"claim,omitempty"`
	// Cookie is the name of a cookie.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Cookie *string `json:"cookie,omitempty"`
	// Query is the name of a query parameter.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Query *string `json:"query,omitempty"`
	// User is who authentication found.
	// +optional
	User *Empty `json:"user,omitempty"`
	// Path is the request's path without its query.
	// +optional
	Path *Empty `json:"path,omitempty"`
	// Method is the request's method.
	// +optional
	Method *Empty `json:"method,omitempty"`
}

// AddressDimension groups addresses by network.
type AddressDimension struct {
	// PrefixV4 is how many bits of an IPv4 address count; 32 if it is not stated.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	PrefixV4 *int32 `json:"prefixV4,omitempty"`
	// PrefixV6 is how many bits of an IPv6 address count; 64, a client's network, if it is not stated.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=128
	PrefixV6 *int32 `json:"prefixV6,omitempty"`
}

// NeedsIdentity tells whether a dimension is known after authentication only.
func (d RequestDimension) NeedsIdentity() bool { return d.Claim != nil || d.User != nil }

// Validate tells what of it can't be served.
func (d RequestDimension) Validate() []Problem {
	return collectProblems(func(f problemList) {
		requireOne(f, map[string]bool{
			"clientAddress": d.ClientAddress != nil, "header": d.Header != nil, "claim": d.Claim != nil,
			"cookie": d.Cookie != nil, "query": d.Query != nil, "user": d.User != nil, "path": d.Path != nil,
			"method": d.Method != nil,
		})
		checkNames(f, d.Header, d.Cookie, d.Query)
		if d.Claim != nil {
			if _, err := ClaimPath(*d.Claim); err != nil {
				f.atField("claim").addProblem("%v", err)
			}
		}
		if a := d.ClientAddress; a != nil {
			checkBits(f.atField("clientAddress.prefixV4"), a.PrefixV4, 32)
			checkBits(f.atField("clientAddress.prefixV6"), a.PrefixV6, 128)
		}
	})
}

// requireOne checks that of a union's members one is stated.
func requireOne(f problemList, members map[string]bool) {
	n := 0
	for _, stated := range members {
		if stated {
			n++
		}
	}
	if n != 1 {
		f.addProblem("%d of its members are stated; state one", n)
	}
}

func checkNames(f problemList, header, cookie, query *string) {
	if header != nil && !isToken(*header) {
		f.atField("header").addProblem("%q is not the name of a header", *header)
	}
	if cookie != nil && !isToken(*cookie) {
		f.atField("cookie").addProblem("%q is not the name of a cookie", *cookie)
	}
	if query != nil && *query == "" {
		f.atField("query").addProblem("it is empty; write the name of a parameter")
	}
}

func checkBits(f problemList, bits *int32, most int32) {
	if bits != nil && (*bits < 1 || *bits > most) {
		f.addProblem("%d is not a length of a prefix; write 1 to %d", *bits, most)
	}
}

// Keepalive asks whether the other end of an idle connection is still there (TCP).
type Keepalive struct {
	// Idle is how long nothing passes before the first probe.
	// +optional
	Idle *gatewayv1.Duration `json:"idle,omitempty"`
	// Interval is the time between probes.
	// +optional
	Interval *gatewayv1.Duration `json:"interval,omitempty"`
	// Probes is how many are not answered before the connection is closed.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=127
	Probes *int32 `json:"probes,omitempty"`
}

// gepDuration is the pattern of gatewayv1.Duration.
var gepDuration = regexp.MustCompile(`^([0-9]{1,5}(h|m|s|ms)){1,4}$`)

// ReadDuration reads a duration that is not shorter than least; nil if it is not stated, or wrong, which the Reader is
// told.
func ReadDuration(r Reader, text *gatewayv1.Duration, least time.Duration) *time.Duration {
	if text == nil {
		return nil
	}
	d, err := Duration(*text)
	if err == nil && d < least {
		err = fmt.Errorf("%s is too short; write %s at least", *text, least)
	}
	if err != nil {
		r.Refuse(err.Error())
		return nil
	}
	return &d
}

// Duration reads a duration: "1h30m", "250ms". Its form is that of the Gateway API (GEP-2257): up to four numbers of up
// to five digits, with the units h, m, s and ms.
func Duration(d gatewayv1.Duration) (time.Duration, error) {
	if !gepDuration.MatchString(string(d)) {
		return 0, fmt.Errorf("%q is not a duration; write 500ms, 10s, 5m or 1h30m", string(d))
	}
	return time.ParseDuration(string(d))
}

// Size reads a size in bytes: "1Mi", "500k". It is not negative, and has no parts of a byte.
func Size(q resource.Quantity) (uint64, error) {
	n, whole := q.AsInt64()
	if !whole || n < 0 {
		return 0, fmt.Errorf("%q is not a number of bytes; write 64Ki or 10Mi", q.String())
	}
	return uint64(n), nil
}

// Size32 reads a size in bytes of 32 bits.
func Size32(q resource.Quantity) (uint32, error) {
	n, err := Size(q)
	if err == nil && n > math.MaxUint32 {
		err = fmt.Errorf("%q is too large; write 4095Mi at most", q.String())
	}
	return uint32(min(n, math.MaxUint32)), err
}

// Percent is a share of requests, in millionths.
func Percent(f gatewayv1.Fraction) (share uint32, err error) {
	const million = 1_000_000
	of := int64(100)
	if f.Denominator != nil {
		of = int64(*f.Denominator)
	}
	n := int64(f.Numerator)
	if of < 1 || n < 0 || n > of {
		return 0, fmt.Errorf("%s of %s is not a share; write a numerator from 0 to the denominator",
			strconv.FormatInt(n, 10), strconv.FormatInt(of, 10))
	}
	share = uint32((n*million + of/2) / of)
	if share == 0 && n > 0 {
		share = 1
	}
	return share, nil
}
