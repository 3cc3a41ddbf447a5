package clienttls

import (
	"slices"
	"strings"
	"testing"

	"cardea.dev/cardea/extend"
)

// told notes what is refused; nothing else is asked of a Reader here.
type told struct {
	extend.Reader
	where   extend.Location
	path    string
	refused *[]string
}

func (r told) Field(path string) extend.Reader {
	r.path = strings.TrimPrefix(r.path+"."+path, ".")
	return r
}
func (r told) Refuse(string)             { *r.refused = append(*r.refused, r.path) }
func (r told) Warn(string)               {}
func (r told) Location() extend.Location { return r.where }

// TestModes: what is not stated is as the Gateway says, and what Envoy would not look at is refused.
func TestModes(t *testing.T) {
	names, hash := []SubjectAltName{{DNS: "a", Type: extend.Exact}}, []string{strings.Repeat("ab", 32)}
	gateway, insecure := extend.Location{ClientCA: true}, extend.Location{ClientCA: true, AnyClient: true}
	for name, test := range map[string]struct {
		spec    ClientValidation
		where   extend.Location
		mode    ValidationMode
		refused []string
	}{
		"nothing":     {mode: RequireAndVerify, refused: []string{""}},
		"hashes only": {spec: ClientValidation{CertificateHashes: hash}, mode: RequireAndVerify},
		"hash, if given": {
			spec: ClientValidation{Mode: VerifyIfGiven, CertificateHashes: hash}, where: gateway, mode: VerifyIfGiven,
			refused: []string{"mode"},
		},
		"names, if given": {
			spec: ClientValidation{Mode: VerifyIfGiven, SubjectAltNames: names}, where: gateway, mode: VerifyIfGiven,
			refused: []string{"mode"},
		},
		"any":             {spec: ClientValidation{Mode: RequireAny}, mode: RequireAny, refused: []string{"mode"}},
		"any, by Gateway": {spec: ClientValidation{Mode: RequireAny}, where: gateway, mode: RequireAny},
		"request":         {spec: ClientValidation{Mode: Request}, mode: Request},
		"names only": {
			spec: ClientValidation{SubjectAltNames: names}, mode: RequireAndVerify, refused: []string{"", "subjectAltNames"},
		},
		"names of any": {
			spec: ClientValidation{Mode: Request, SubjectAltNames: names}, mode: Request,
			refused: []string{"subjectAltNames"},
		},
		"names, by Gateway": {spec: ClientValidation{SubjectAltNames: names}, where: gateway, mode: RequireAndVerify},
		"insecure":          {where: insecure, mode: Request},
		"insecure names": {
			spec: ClientValidation{SubjectAltNames: names}, where: insecure, mode: Request,
			refused: []string{"subjectAltNames"},
		},
		"secure once more": {spec: ClientValidation{Mode: VerifyIfGiven}, where: insecure, mode: VerifyIfGiven},
		"no mode": {
			spec: ClientValidation{Mode: "Always"}, where: gateway, mode: "Always", refused: []string{"mode"},
		},
		"no hash": {
			spec: ClientValidation{CertificateHashes: []string{"ab"}}, where: gateway, mode: RequireAndVerify,
			refused: []string{"certificateHashes[0]"},
		},
	} {
		var refused []string
		got := readClients(told{where: test.where, refused: &refused}, test.spec)
		if got.Mode != test.mode || !slices.Equal(refused, test.refused) {
			t.Errorf("%s: mode %s, refused %q, want %s, %q", name, got.Mode, refused, test.mode, test.refused)
		}
	}
}

// TestVersions: some version is left, and a suite for each.
func TestVersions(t *testing.T) {
	for _, test := range []struct {
		spec Spec
		ok   bool
	}{
		{Spec{}, true}, {Spec{MinVersion: "1.2", MaxVersion: "1.2"}, true}, {Spec{MaxVersion: "1.1"}, false},
		{Spec{MinVersion: "1.3", MaxVersion: "1.2"}, false}, {Spec{MinVersion: "1.1"}, false}, {Spec{MinVersion: "2"}, false},
		{Spec{MinVersion: "1.1", CipherSuites: []CipherSuite{"AES128-SHA"}}, true},
		{Spec{CipherSuites: []CipherSuite{"AES128-SHA", "AES128-SHA"}}, false}, {Spec{Curves: []Curve{"P-224"}}, false},
	} {
		var refused []string
		if readSpec(told{refused: &refused}, test.spec); (len(refused) == 0) != test.ok {
			t.Errorf("%+v: refused %q", test.spec, refused)
		}
	}
}
