package access

import "cardea.dev/cardea/extend"

// listTools are those that rules name.
func listTools(all []Value) (list []extend.NamedTool) {
	for _, v := range all {
		for _, l := range v.Levels {
			for _, p := range l.Policies {
				for _, r := range p.Rules {
					list = append(list, r.namedTools(p)...)
				}
			}
		}
	}
	return list
}

func (r Rule) namedTools(p Policy) (list []extend.NamedTool) {
	if r.Authorization == nil || r.Authorization.MCP == nil {
		return nil
	}
	for _, m := range r.Authorization.MCP.Methods {
		if m.Name != "tools/call" {
			continue
		}
		for _, t := range m.Params {
			list = append(list, extend.NamedTool{Rule: ruleName(p, r), Words: t.describeText(), Expression: t.toRegex()})
		}
	}
	return list
}
