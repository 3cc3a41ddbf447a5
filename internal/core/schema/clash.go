package schema

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

// explainClashes says of failed CEL rules over lists which two entries break them. It needs no knowledge of any rule:
// it asks the rule about lists of two entries. If a rule accepts each of two entries alone and rejects both together,
// these two clash. found is what the rules said, others is what was wrong besides.
func (c *crd) explainClashes(doc map[string]any, found, others field.ErrorList) field.ErrorList {
	var told field.ErrorList
	for _, e := range found {
		clash := c.findClash(doc, e)
		switch {
		case clash == nil:
			told = append(told, e)
		case clash.isKey() && slices.ContainsFunc(others, func(o *field.Error) bool {
			return o.Type == field.ErrorTypeDuplicate && strings.HasPrefix(o.Field, e.Field+"[")
		}): // the list's own keys: others says it
		default:
			told = append(told, &field.Error{
				Type: field.ErrorTypeInvalid, Field: fmt.Sprintf("%s[%d]", e.Field, clash.second),
				BadValue: field.OmitValueType{}, Detail: clash.String(),
			})
		}
	}
	return told
}

// clash is two entries of a list that a rule rejects together.
type clash struct {
	list          string // the path
	message       string // of the rule
	rule          string
	schema        *structuralschema.Structural // of the list
	entries       []any
	first, second int
}

func (c *crd) findClash(doc map[string]any, e *field.Error) *clash {
	entries, _ := valueAt(doc, e.Field).([]any)
	rules := validatorAt(c.cel, e.Field)
	if len(entries) < 2 || rules == nil || rules.Schema == nil {
		return nil
	}
	found := &clash{list: e.Field, message: e.Detail, schema: rules.Schema, entries: entries}
	for _, r := range rules.Schema.XValidations {
		if found.rule == "" && r.Message == e.Detail {
			found.rule = r.Rule
		}
	}
	only := *rules
	only.Items, only.AllOfValidators = nil, nil
	fails := func(list ...any) bool {
		errs, _ := only.Validate(context.Background(), nil, nil, list, nil, celconfig.RuntimeCELCostBudget)
		return slices.ContainsFunc(errs, func(other *field.Error) bool { return other.Detail == e.Detail })
	}
	// The first entries up to the second one of the pair are the shortest list that fails.
	for found.second = 1; found.second < len(entries) && !fails(entries[:found.second+1]...); {
		found.second++
	}
	if found.second == len(entries) || fails(entries[found.second]) {
		return nil
	}
	for i := range found.second {
		if found.first = i; !fails(entries[i]) && fails(entries[i], entries[found.second]) {
			return found
		}
	}
	return nil
}

// validatorAt finds the rules of a field; nil if there are none.
func validatorAt(v *cel.Validator, path string) *cel.Validator {
	for _, step := range pathSteps(path) {
		if v == nil {
			return nil
		}
		p, isProperty := v.Properties[step]
		switch {
		case isProperty:
			v = &p
		case v.Items != nil:
			v = v.Items
		default:
			v = v.AdditionalProperties
		}
	}
	return v
}

// String says which two entries clash and what they have in common. A rule of uniqueness needs no other words.
func (c *clash) String() string {
	unique, shared := c.isUniqueRule(), c.sharedFields()
	if len(shared) == 1 && unique {
		if value := c.entryValue(c.second, shared[0]); value != nil {
			return describeUsed(map[string]any{shared[0]: value}, nil, entryName(c.list, c.first))
		}
	}
	which := fmt.Sprintf("%s and [%d]", entryName(c.list, c.first), c.second)
	a, _ := c.entryValue(c.first, "name").(string)
	if b, _ := c.entryValue(c.second, "name").(string); a != b && a != "" && b != "" {
		list := entryName(c.list, c.first)
		which = fmt.Sprintf("%s %q and %q (%s)", list[:strings.IndexByte(list, '[')], a, b, which)
	}
	var words []string
	for _, name := range shared {
		switch value := c.entryValue(c.first, name); {
		case value == nil && unique:
			words = append(words, "no "+name)
		case value == nil:
		case isScalar(value):
			words = append(words, fmt.Sprintf("%s %.80s", name, fmt.Sprint(value)))
		default:
			words = append(words, "the same "+name)
		}
	}
	if len(words) > 0 {
		which += " both have " + joinAnd(words)
	}
	if unique && len(words) > 0 {
		return which + "; change one"
	}
	return c.message + ": " + which
}

// isUniqueRule tells a rule that says of each entry that it is the only one of its sort.
func (c *clash) isUniqueRule() bool {
	return strings.HasPrefix(c.rule, "self.all(") && strings.Contains(c.rule, "self.exists_one(")
}

// isKey says that the rule is about the keys of the list.
func (c *clash) isKey() bool {
	shared := c.sharedFields()
	slices.Sort(shared)
	return c.isUniqueRule() && slices.Equal(shared, slices.Sorted(slices.Values(c.schema.XListMapKeys)))
}

func (c *clash) entryValue(i int, name string) any {
	item, _ := c.entries[i].(map[string]any)
	return item[name]
}

// sharedFields are the fields that the rule looks at and that are equal in both entries, in the rule's order. Those
// that have their default are left out if there are others: mostly nobody wrote them.
func (c *clash) sharedFields() []string {
	at := map[string]int{}
	var names, defaults []string
	for name, property := range c.schema.Items.Properties {
		escaped, ok := apiservercel.Escape(name)
		place := regexp.MustCompile(`\.` + regexp.QuoteMeta(escaped) + `\b`).FindStringIndex(c.rule)
		a, b := c.entryValue(c.first, name), c.entryValue(c.second, name)
		if !ok || place == nil || !reflect.DeepEqual(a, b) {
			continue
		}
		at[name] = place[0]
		if a != nil && reflect.DeepEqual(a, property.Default.Object) {
			defaults = append(defaults, name)
		} else {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		names = defaults
	}
	slices.SortFunc(names, func(a, b string) int { return at[a] - at[b] })
	return names
}
