package extend

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/overloads"
	"github.com/google/cel-go/common/types"
	exprv1alpha1 "google.golang.org/genproto/googleapis/api/expr/v1alpha1"
	"k8s.io/utils/lru"

	"cardea.dev/cardea/internal/core/model"
)

const (
	// maxCELDepth bounds how deep an expression nests. In protobuf each level is two or three of messages, and readers of
	// those take 100.
	maxCELDepth = 24
	// maxCELRegex bounds expressions that matches() compares with, in about the instructions of their programs.
	maxCELRegex = 90
)

// celAttributes are what expressions can read: attributes that are known before a backend is chosen, by Envoy's names,
// but for names that Cardea gives.
var celAttributes = map[string]*cel.Type{
	"request.path": cel.StringType, "request.url_path": cel.StringType, "request.host": cel.StringType,
	"request.scheme": cel.StringType, "request.method": cel.StringType, "request.query": cel.StringType,
	"request.referer": cel.StringType, "request.useragent": cel.StringType, "request.id": cel.StringType,
	"request.protocol": cel.StringType, "request.time": cel.TimestampType, "request.size": cel.IntType,
	"request.headers": cel.MapType(cel.StringType, cel.StringType),
	"source.address":  cel.StringType, "source.port": cel.IntType,
	"destination.address": cel.StringType, "destination.port": cel.IntType,
	"connection.id": cel.UintType, "connection.mtls": cel.BoolType,
	"connection.requested_server_name": cel.StringType, "connection.tls_version": cel.StringType,
	"connection.subject_peer_certificate":       cel.StringType,
	"connection.dns_san_peer_certificate":       cel.StringType,
	"connection.uri_san_peer_certificate":       cel.StringType,
	"connection.sha256_peer_certificate_digest": cel.StringType,
	"metadata.filter_metadata":                  cel.MapType(cel.StringType, cel.MapType(cel.StringType, cel.DynType)),
	"filter_state":                              cel.MapType(cel.StringType, cel.DynType),
}

// celFunctions are what expressions can call. They are few, so that every data plane can evaluate them.
var celFunctions = []string{
	operators.LogicalNot, operators.LogicalAnd, operators.LogicalOr, operators.Equals, operators.NotEquals,
	operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.In, operators.Index,
	operators.Conditional, operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo,
	operators.Negate, overloads.StartsWith, overloads.EndsWith, overloads.Contains, overloads.Matches, overloads.Size,
	overloads.TypeConvertInt, overloads.TypeConvertUint, overloads.TypeConvertDouble, overloads.TypeConvertTimestamp,
	overloads.TypeConvertDuration, overloads.TimeGetFullYear, overloads.TimeGetMonth, overloads.TimeGetDayOfWeek,
	overloads.TimeGetDate, overloads.TimeGetHours, overloads.TimeGetMinutes,
}

// unboundedFunctions are functions with results that grow with what a client sends; no expression can call them.
var unboundedFunctions = []string{overloads.AddString, overloads.AddBytes, overloads.AddList}

var comprehensions = []string{"all", "exists", "exists_one", "map", "filter"}

var celEnvironment = sync.OnceValue(func() *cel.Env {
	options := []cel.EnvOption{cel.ClearMacros(), cel.Macros(cel.HasMacro), cel.ParserRecursionLimit(100)}
	for name, typ := range celAttributes {
		options = append(options, cel.Variable(name, typ))
	}
	env, err := cel.NewEnv(options...)
	if err != nil {
		panic(fmt.Sprintf("extend: %v", err))
	}
	return env
})

// checkCEL tells why an expression can't be served; boolean: it has to be true or false. What a policy states is read
// for each rule that it reaches, so answers are remembered.
func checkCEL(expr string, boolean bool) error {
	key := celKey{expr, boolean}
	if known, found := celAnswers.Get(key); found {
		return known.(celAnswer).err
	}
	err := checkExpression(expr, boolean)
	if len(expr) <= maxRememberedCEL {
		celAnswers.Add(key, celAnswer{err})
	}
	return err
}

type celKey struct {
	expr    string
	boolean bool
}

type celAnswer struct{ err error }

// maxRememberedCEL is the length of an expression whose answer is remembered, in bytes.
const maxRememberedCEL = 8192

// celAnswers are the last ones of checkCEL.
var celAnswers = lru.New(256)

func checkExpression(expr string, boolean bool) error {
	env := celEnvironment()
	parsed, issues := env.Parse(expr)
	if issues.Err() != nil {
		return firstIssue(issues)
	}
	if err := checkCalls(parsed); err != nil {
		return err
	}
	checked, issues := env.Check(parsed)
	if issues.Err() != nil {
		return firstIssue(issues)
	}
	for id, info := range checked.NativeRep().ReferenceMap() {
		if len(info.OverloadIDs) > 0 && slices.Contains(unboundedFunctions, info.OverloadIDs[0]) &&
			len(info.OverloadIDs) == 1 {
			return fmt.Errorf("%s: + is for numbers only; compare the parts of a text or list one by one", locateExpr(parsed,
				id))
		}
	}
	if boolean && !checked.OutputType().IsExactType(cel.BoolType) {
		return fmt.Errorf("it has type %s; write an expression that is true or false, such as one with ==",
			checked.OutputType())
	}
	return nil
}

// checkCalls looks for what data planes do not evaluate.
func checkCalls(parsed *cel.Ast) (err error) {
	refuse := func(e ast.Expr, format string, args ...any) {
		if err == nil {
			err = fmt.Errorf("%s: "+format, append([]any{locateExpr(parsed, e.ID())}, args...)...)
		}
	}
	root := parsed.NativeRep()
	if depth := ast.Heights(root)[root.Expr().ID()]; depth > maxCELDepth {
		return fmt.Errorf("it nests %d levels deep, at most %d; write several expressions", depth, maxCELDepth)
	}
	ast.PreOrderVisit(root.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.MapKind, ast.StructKind, ast.ComprehensionKind:
			refuse(e, "an expression can't make maps and messages; compare the parts one by one")
		case ast.CallKind:
			checkCall(e.AsCall(), func(format string, args ...any) { refuse(e, format, args...) })
		}
	}))
	return err
}

func checkCall(call ast.CallExpr, refuse func(format string, args ...any)) {
	name := call.FunctionName()
	switch {
	case slices.Contains(comprehensions, name):
		refuse("%s() iterates over a list, which no expression can; use the operator in, or the match's claims and headers",
			name)
	case !slices.Contains(celFunctions, name):
		refuse("there is no function %s()", name)
	case name == overloads.Matches && len(call.Args()) > 0:
		pattern := call.Args()[len(call.Args())-1]
		text, literal := "", pattern.Kind() == ast.LiteralKind
		if literal {
			value, ok := pattern.AsLiteral().(types.String)
			text, literal = string(value), ok
		}
		if !literal {
			refuse("write the regular expression of matches() as a text in quotes")
		} else if err := model.CheckRegex(text); err != nil {
			refuse("the regular expression of matches(): %v", err)
		} else if size := model.RegexSize(text); size > maxCELRegex {
			refuse("the regular expression of matches() is too large: about %d instructions, at most %d; use headers or paths",
				size, maxCELRegex)
		}
	}
}

// firstIssue is the first issue, with its place.
func firstIssue(issues *cel.Issues) error {
	first := issues.Errors()[0]
	message, _, _ := strings.Cut(first.Message, " (in container")
	if strings.HasPrefix(message, "undeclared reference") {
		message += "; attributes are request.path, request.headers['x'], source.address, " +
			"metadata.filter_metadata['x']['y'] and others of requests and connections"
	}
	return fmt.Errorf("line %d, column %d: %s", first.Location.Line(), first.Location.Column()+1, message)
}

func locateExpr(parsed *cel.Ast, id int64) string {
	place := parsed.NativeRep().SourceInfo().GetStartLocation(id)
	return fmt.Sprintf("line %d, column %d", place.Line(), place.Column()+1)
}

// EvaluateCEL tells whether a valid expression is true, by known attributes with their names, such as request.path. It
// is Unknown if it asks for others. The error is that of an expression that can't be evaluated: it asks for what is not
// there, or compares what can't be compared.
func EvaluateCEL(expr string, known map[string]any) (Truth, error) {
	program, err := celPrograms.programFor(expr)
	if err != nil {
		return Unknown, err
	}
	var others []*cel.AttributePatternType
	for name := range celAttributes {
		if _, is := known[name]; !is {
			others = append(others, cel.AttributePattern(name))
		}
	}
	vars, err := cel.PartialVars(known, others...)
	if err != nil {
		return Unknown, err
	}
	switch value, _, err := program.Eval(vars); {
	case err != nil:
		return Unknown, err
	case value == types.True:
		return Certainly, nil
	case value == types.False:
		return CertainlyNot, nil
	}
	return Unknown, nil
}

// celPrograms are those of the last expressions that were evaluated.
var celPrograms programCache

type programCache struct {
	mu  sync.Mutex
	all map[string]cel.Program
}

// maxPrograms bounds how many are kept.
const maxPrograms = 1000

func (p *programCache) programFor(expr string) (cel.Program, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if program, found := p.all[expr]; found {
		return program, nil
	}
	env := celEnvironment()
	checked, issues := env.Compile(expr)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	program, err := env.Program(checked, cel.EvalOptions(cel.OptPartialEval))
	if err != nil {
		return nil, err
	}
	if p.all == nil || len(p.all) >= maxPrograms {
		p.all = map[string]cel.Program{}
	}
	p.all[expr] = program
	return program, nil
}

// CELExpression is an expression in parts; one that is not valid is never true.
func CELExpression(expr string) *exprv1alpha1.Expr {
	parsed, issues := celEnvironment().Parse(expr)
	if issues.Err() == nil {
		if out, err := cel.AstToParsedExpr(parsed); err == nil {
			return out.GetExpr()
		}
	}
	return &exprv1alpha1.Expr{ExprKind: &exprv1alpha1.Expr_ConstExpr{ConstExpr: &exprv1alpha1.Constant{
		ConstantKind: &exprv1alpha1.Constant_BoolValue{BoolValue: false},
	}}}
}

// celNeedsIdentity tells whether an expression reads what authentication found.
func celNeedsIdentity(expr string) bool {
	return celHas(expr, func(e ast.Expr) bool {
		return e.Kind() == ast.IdentKind && slices.Contains([]string{"metadata", "filter_state"}, e.AsIdent())
	})
}

// celHeaders are the headers that an expression reads, in small letters; AnyHeader, if it can't be told which.
func celHeaders(expr string) (names []string) {
	all, named := 0, 0
	celHas(expr, func(e ast.Expr) bool {
		switch {
		case isHeaders(e):
			all++
		case e.Kind() == ast.CallKind && len(e.AsCall().Args()) == 2:
			of, key := e.AsCall().Args()[0], e.AsCall().Args()[1]
			if e.AsCall().FunctionName() == operators.In {
				of, key = key, of
			}
			if isHeaders(of) && key.Kind() == ast.LiteralKind {
				if name, is := key.AsLiteral().Value().(string); is {
					named++
					names = append(names, strings.ToLower(name))
				}
			}
			if e.AsCall().FunctionName() == operators.Index && of.Kind() == ast.IdentKind {
				all++ // request['headers']
			}
		}
		return false
	})
	if all > named {
		return []string{AnyHeader}
	}
	return names
}

// isHeaders tells whether an expression is a part called headers.
func isHeaders(e ast.Expr) bool {
	return e.Kind() == ast.SelectKind && e.AsSelect().FieldName() == "headers"
}

func celHas(expr string, is func(ast.Expr) bool) (has bool) {
	if expr == "" {
		return false
	}
	parsed, issues := celEnvironment().Parse(expr)
	if issues.Err() != nil {
		return false
	}
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) { has = has || is(e) }))
	return has
}
