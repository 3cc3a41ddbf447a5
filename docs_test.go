package cardea

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// TestDocNames checks that the doc comment of a function, method or type begins with its name, so that none names what
// was renamed.
func TestDocNames(t *testing.T) {
	checked := 0
	visit(t, func(path string) {
		if !isProgram(path) {
			return
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if ast.IsGenerated(file) {
			return
		}
		check := func(name *ast.Ident, doc *ast.CommentGroup, articles ...string) {
			text := doc.Text()
			if text == "" {
				return
			}
			checked++
			first, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
			for _, article := range articles {
				if first == article {
					first, _, _ = strings.Cut(rest, " ")
				}
			}
			first, _, _ = strings.Cut(first, "\n")
			if strings.TrimRight(first, ".,:;") != name.Name {
				t.Errorf("%s: the doc comment of %s begins with %q", set.Position(name.Pos()), name.Name, first)
			}
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				check(d.Name, d.Doc)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, is := spec.(*ast.TypeSpec); is {
						doc := s.Doc
						if doc == nil && !d.Lparen.IsValid() {
							doc = d.Doc
						}
						check(s.Name, doc, "A", "An", "The")
					}
				}
			}
		}
	})
	if checked < 2000 {
		t.Errorf("only %d comments were found", checked)
	}
}
