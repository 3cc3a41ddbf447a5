package cardea

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the table of metrics")

const metricsPage = "docs/metrics.md"

// TestMetricsPage: the table of docs/metrics.md is what the code makes. Every metric is made by one call that has its
// name, its help, and its labels as literals.
func TestMetricsPage(t *testing.T) {
	var rows []string
	err := filepath.WalkDir("internal", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if row := metricMade(call); row != "" {
					rows = append(rows, row)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(rows)
	page, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(page), "|---|---|---|\n")
	if !found || len(rows) < 30 {
		t.Fatalf("no table, or only %d metrics", len(rows))
	}
	_, after, _ := strings.Cut(rest, "\n\n")
	want := before + "|---|---|---|\n" + strings.Join(rows, "\n") + "\n"
	if after != "" {
		want += "\n" + after
	}
	switch {
	case want == string(page):
	case *update:
		if err := os.WriteFile(metricsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is not what the code makes (go test . -update):\n%s", metricsPage, want)
	}
}

// metricMade is the row of the metric that a call makes; "" if it makes none itself.
func metricMade(call *ast.CallExpr) string {
	var words []string
	for _, arg := range call.Args {
		ast.Inspect(arg, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr, *ast.FuncLit:
				return false // speaks for itself
			case *ast.BinaryExpr, *ast.BasicLit:
				if text, ok := literal(n.(ast.Expr)); ok {
					words = append(words, text)
				}
				return false
			}
			return true
		})
	}
	if len(words) < 2 || !strings.HasPrefix(words[0], "cardea_") {
		return ""
	}
	labels := ""
	for _, l := range words[2:] {
		labels = strings.TrimPrefix(labels+", `"+l+"`", ", ")
	}
	return fmt.Sprintf("| `%s` | %s | %s |", words[0], labels, words[1])
}

// literal is the text of a string literal, or of several that are added up.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		x, first := literal(e.X)
		y, second := literal(e.Y)
		return x + y, first && second && e.Op == token.ADD
	}
	return "", false
}
