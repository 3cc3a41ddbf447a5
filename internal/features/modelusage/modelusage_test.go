package modelusage

import (
	"slices"
	"testing"

	"cardea.dev/cardea/extend"
)

// told is a Reader that notes what is refused.
type told struct {
	extend.Reader
	path string
	list *[]string
}

func (r told) Field(path string) extend.Reader {
	r.path += "." + path
	return r
}
func (r told) Refuse(message string) { *r.list = append(*r.list, r.path+": "+message) }

// TestRead: the caller is who authentication found, or a claim; a mistake names its field and what to write.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		caller *Caller
		words  string
		wrong  []string
	}{
		{nil, "tokens of responses are counted by caller and model", nil},
		{&Caller{Claim: new("realm.team")}, "tokens of responses are counted by claim realm.team and model", nil},
		{&Caller{}, "tokens of responses are counted by caller and model", []string{
			".caller: state claim in it, or leave it out",
		}},
		{&Caller{Claim: new(`a\`)}, `tokens of responses are counted by claim a\ and model`, []string{
			`.caller.claim: a backslash escapes nothing; write \\ for a backslash, \. for a dot`,
		}},
	} {
		var wrong []string
		v := readSpec(told{list: &wrong}, Spec{Caller: c.caller})
		if got := describeValue(v); !slices.Equal(got, []string{c.words}) || !slices.Equal(wrong, c.wrong) {
			t.Errorf("%+v: %q, %q", c.caller, got, wrong)
		}
	}
}
