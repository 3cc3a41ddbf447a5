package model

import "testing"

// TestRegexStart: whatever an expression would take begins with this text, or nothing is said of it.
func TestRegexStart(t *testing.T) {
	for expr, want := range map[string]string{
		`/api/v1/(users|`: "/api/v1/", `^/api[`: "/api", `/ord+ers?(`: "/ord", `/orders?(`: "/order", `/ab{0,2}(`: "/a",
		`/ab*(`: "/a", `/file\.txt(`: "/file.txt", `/a\db(`: "/a", `/a.b(`: "/a", `/a\`: "/a", `/a$(`: "/a", `/a\Qb(`: "/a",
		`/a(b|c)(`: "/a", `/a[|](`: "/a", `/a\|b(`: "/a|b", `/aé(`: "/a", `/a%C3(`: "/a%C3", `/a/`: "/a/",
		`/`: "", `/(`: "", `(?i)/api(`: "", `/?a(`: "", `.*(`: "", `a(`: "", ``: "", `^`: "", `[`: "", `/*(`: "",
		`/a[(]|/b(`: "", `/a[[]|/b(`: "", `/ab{|/c`: "", `/a[]|](`: "/a", `/a[^]|](`: "/a", `/api/[(]x|/c(`: "",
		`/a[[:alpha:]|](`: "/a", `/a[\]|](`: "/a", `/a[|b(`: "",
		`/one|/two(`: "", `/a(b)|/c[`: "", `/a)|/b`: "", `|/a(`: "",
	} {
		if start, found := RegexStart(expr); found != (want != "") || found && start != want {
			t.Errorf("%s: %q, %t, want %q", expr, start, found, want)
		}
	}
}
