package cardea

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// wordBounds are what TestWords allows, in percent: about what well-kept projects of this field have.
var wordBounds = map[string]float64{
	"functions named by a participle":            2.5,
	"functions named by one word":                45,
	"sentences with a fronted \"of which\"":      1,
	"sentences that begin with What/Who/Of/That": 1,
	"names that have three roles in a package":   0.4,
}

// TestWords measures the names and comments of the program's own code: how many functions are named by a participle
// alone ("stated"), or by one word; how many sentences put the genitive first; how many names mean three things in one
// package. A reader has to stop at each of them.
func TestWords(t *testing.T) {
	var m measured
	visit(t, func(path string) {
		if isProgram(path) {
			m.read(t, path)
		}
	})
	if m.functions.all < 3000 {
		t.Fatalf("only %d functions were found", m.functions.all)
	}
	for name, bound := range wordBounds {
		s := m.share(t, name)
		t.Logf("%s: %d of %d, %.1f %%, bound %.1f %%", name, s.some, s.all, s.percent(), bound)
		if s.percent() > bound {
			t.Errorf("%s: %.1f %%, want %.1f %% at most; such as %s", name, s.percent(), bound,
				strings.Join(s.examples[:min(20, len(s.examples))], "; "))
		}
	}
}

// isProgram tells whether a file is written by hand and becomes part of the program.
func isProgram(path string) bool {
	path = filepath.ToSlash(path)
	for _, part := range []string{"_test.go", "hack/", "examples/", "internal/test/e2e/", "internal/test/cluster",
		"internal/test/kubetest", "internal/test/testcert", "zz_generated", "extendtest/"} {
		if strings.Contains(path, part) {
			return false
		}
	}
	return true
}

// share is how many of all are some, with examples.
type share struct {
	some, all int
	examples  []string
}

func (s *share) add(is bool, example string) {
	s.all++
	if is {
		s.some++
		s.examples = append(s.examples, example)
	}
}

func (s share) percent() float64 { return 100 * float64(s.some) / float64(max(1, s.all)) }

// measured is what was counted.
type measured struct {
	functions  share // all is how many; the others of these count the same ones
	participle share
	oneWord    share
	fronted    share
	begins     share
	roles      map[string]map[string]map[string]bool // by package and name
}

func (m *measured) share(t *testing.T, name string) share {
	t.Helper()
	switch name {
	case "functions named by a participle":
		return m.participle
	case "functions named by one word":
		return m.oneWord
	case "sentences with a fronted \"of which\"":
		return m.fronted
	case "sentences that begin with What/Who/Of/That":
		return m.begins
	case "names that have three roles in a package":
		return m.shareOfRoles()
	}
	t.Fatalf("nothing measures %q", name)
	return share{}
}

// shareOfRoles is how many names of all mean three things in one package.
func (m *measured) shareOfRoles() (s share) {
	for _, pkg := range slices.Sorted(maps.Keys(m.roles)) {
		for _, name := range slices.Sorted(maps.Keys(m.roles[pkg])) {
			roles := slices.Sorted(maps.Keys(m.roles[pkg][name]))
			s.add(len(roles) >= 3, pkg+" "+name+" ("+strings.Join(roles, ", ")+")")
		}
	}
	return s
}

func (m *measured) read(t *testing.T, path string) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	if ast.IsGenerated(file) {
		return
	}
	pkg := filepath.Dir(path)
	role := func(name, role string) {
		if len(name) < 3 { // i, ok, err
			return
		}
		if m.roles == nil {
			m.roles = map[string]map[string]map[string]bool{}
		}
		if m.roles[pkg] == nil {
			m.roles[pkg] = map[string]map[string]bool{}
		}
		if m.roles[pkg][name] == nil {
			m.roles[pkg][name] = map[string]bool{}
		}
		m.roles[pkg][name][role] = true
	}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		role(path[strings.LastIndexByte(path, '/')+1:], "package")
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			words := wordsOf(n.Name.Name)
			where := pkg + "." + n.Name.Name
			m.functions.add(true, where)
			m.oneWord.add(len(words) == 1, where)
			m.participle.add(len(words) == 1 && isParticiple(words[0]), where)
			role(n.Name.Name, map[bool]string{true: "method", false: "function"}[n.Recv != nil])
			for _, list := range []*ast.FieldList{n.Recv, n.Type.Params, n.Type.Results} {
				locals(list, role)
			}
		case *ast.FuncLit:
			locals(n.Type.Params, role)
		case *ast.TypeSpec:
			role(n.Name.Name, "type")
		case *ast.StructType:
			for _, f := range n.Fields.List {
				for _, name := range f.Names {
					role(name.Name, "field")
				}
			}
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					role(id.Name, "variable")
				}
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if id, ok := e.(*ast.Ident); ok && n.Tok == token.DEFINE {
					role(id.Name, "variable")
				}
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				role(name.Name, "variable")
			}
		}
		return true
	})
	for _, group := range file.Comments {
		for _, sentence := range sentencesOf(group.Text()) {
			m.begins.add(beginsOddly.MatchString(sentence), path+": "+sentence)
			m.fronted.add(frontedGenitive.MatchString(sentence), path+": "+sentence)
		}
	}
}

func locals(list *ast.FieldList, role func(name, role string)) {
	if list == nil {
		return
	}
	for _, f := range list.List {
		for _, name := range f.Names {
			role(name.Name, "variable")
		}
	}
}

var (
	beginsOddly     = regexp.MustCompile(`^(What|Who|Of|That|Those who|Whoever) `)
	frontedGenitive = regexp.MustCompile(`\b[Oo]f (which|whom)\b|\bwhose\b|^Of |[,;:] of ` +
		`(a|an|the|all|each|those|one|another|others|many|several) `)
	endOfSentence = regexp.MustCompile(`[.:?!](\s+|$)`)
)

// sentencesOf are the sentences of a comment, but for drawings.
func sentencesOf(text string) (list []string) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(paragraph, "\t") || strings.HasPrefix(paragraph, "+") {
			continue
		}
		for _, s := range endOfSentence.Split(strings.Join(strings.Fields(paragraph), " "), -1) {
			if strings.Count(s, " ") >= 2 {
				list = append(list, s)
			}
		}
	}
	return list
}

// wordsOf splits a name at its capital letters; letters that are all large are one word.
func wordsOf(name string) (words []string) {
	runes := []rune(name)
	from := 0
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || unicode.IsUpper(runes[i]) && (!unicode.IsUpper(runes[i-1]) ||
			i+1 < len(runes) && unicode.IsLower(runes[i+1])) {
			words = append(words, strings.ToLower(string(runes[from:i])))
			from = i
		}
	}
	return words
}

// participles are those that don't end in -ed.
var participles = strings.Fields(`
	made kept found given seen left met held told said known shown taken gone done begun lost written
	chosen hidden stuck sent built meant spent stood understood bound drawn grown
	broken spoken stolen woken worn torn sworn driven risen fallen eaten beaten forgotten forbidden
	caught taught thought brought bought sought fought led fed`)

// notParticiples end in -ed, and are verbs.
var notParticiples = strings.Fields(`need feed seed speed embed exceed proceed succeed shed`)

func isParticiple(word string) bool {
	if slices.Contains(notParticiples, word) {
		return false
	}
	return slices.Contains(participles, word) || strings.HasSuffix(word, "ed") && len(word) > 3
}

// TestWordsOf splits names.
func TestWordsOf(t *testing.T) {
	for name, want := range map[string]string{"stated": "stated", "HTTPRoute": "http route", "serveHTTP": "serve http",
		"readAll": "read all", "XDS": "xds"} {
		if got := strings.Join(wordsOf(name), " "); cmp.Compare(got, want) != 0 {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestParticiples tells participles from verbs that look like some.
func TestParticiples(t *testing.T) {
	for word, want := range map[string]bool{"stated": true, "kept": true, "read": false, "set": false, "need": false} {
		if isParticiple(word) != want {
			t.Errorf("%s: %t", word, !want)
		}
	}
}
