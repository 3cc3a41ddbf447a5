package cli

import (
	"fmt"
	"strings"

	"cardea.dev/cardea/internal/model"
)

// column is one between NAME and AGE, or, if wide, after AGE and with -o wide only.
type column struct {
	title string
	of    func(object) string
	wide  bool
}

// field is a column that shows one field.
func field(title string, path ...string) column {
	return column{title: title, of: func(o object) string { return o.text(path...) }}
}

func wide(c column) column {
	c.wide = true
	return c
}

var routeColumns = []column{
	{title: "HOSTNAMES", of: func(o object) string { return words(o.texts("spec", "hostnames")) }},
	{title: "ACCEPTED", of: accepted},
	{title: "RESOLVED", of: parents("ResolvedRefs")},
	{title: "PROGRAMMED", of: parents("cardea.dev/Programmed")},
	wide(column{title: "PARENTS", of: func(o object) string { return eachOf(o.list("spec", "parentRefs"), "name") }}),
}

var columnsOf = map[model.Kind][]column{
	model.KindGatewayClass: {
		field("CONTROLLER", "spec", "controllerName"),
		{title: "ACCEPTED", of: func(o object) string { return condition("Accepted", o.list("status", "conditions")) }},
		wide(field("DESCRIPTION", "spec", "description")),
	},
	model.KindGateway: {
		field("CLASS", "spec", "gatewayClassName"),
		{title: "ADDRESS", of: func(o object) string { return eachOf(o.list("status", "addresses"), "value") }},
		{title: "PROGRAMMED", of: programmed},
		wide(column{title: "LISTENERS", of: func(o object) string {
			var all []string
			for _, l := range o.list("spec", "listeners") {
				all = append(all, fmt.Sprintf("%s:%s/%s", l.text("name"), l.text("protocol"), l.text("port")))
			}
			return words(all)
		}}),
	},
	model.KindHTTPRoute: routeColumns,
	model.KindGRPCRoute: routeColumns,
	model.KindReferenceGrant: {
		wide(column{title: "FROM", of: func(o object) string { return eachOf(o.list("spec", "from"), "kind", "namespace") }}),
		wide(column{title: "TO", of: func(o object) string { return eachOf(o.list("spec", "to"), "kind", "name") }}),
	},
	model.KindXBackend: {
		field("TYPE", "spec", "type"),
		field("HOSTNAME", "spec", "externalHostname", "hostname"),
		field("PORT", "spec", "port", "number"),
		{title: "ACCEPTED", of: entriesOf("ancestors", "Accepted")},
		{title: "RESOLVED", of: entriesOf("ancestors", "ResolvedRefs")},
	},
	model.KindDataPlane: {
		{title: "PROXY", of: func(o object) string { return either(o.text("spec", "proxy"), "Envoy") }},
		{title: "REPLICAS", of: func(o object) string { return either(o.text("spec", "replicas"), "<unset>") }},
	},
	model.KindService: {
		{title: "TYPE", of: func(o object) string { return either(o.text("spec", "type"), "ClusterIP") }},
		{title: "CLUSTER-IP", of: func(o object) string { return either(o.text("spec", "clusterIP"), "<none>") }},
		{title: "EXTERNAL-IP", of: externalIP},
		{title: "PORT(S)", of: func(o object) string {
			var all []string
			for _, p := range o.list("spec", "ports") {
				all = append(all, p.text("port")+"/"+either(p.text("protocol"), "TCP"))
			}
			return words(all)
		}},
	},
	model.KindEndpointSlice: {
		field("ADDRESSTYPE", "addressType"),
		{title: "PORTS", of: func(o object) string { return either(eachOf(o.list("ports"), "port"), "<unset>") }},
		{title: "ENDPOINTS", of: func(o object) string {
			var all []string
			for _, e := range o.list("endpoints") {
				all = append(all, e.texts("addresses")...)
			}
			return words(all)
		}},
	},
	model.KindSecret:    {field("TYPE", "type"), {title: "DATA", of: entries("data")}},
	model.KindConfigMap: {{title: "DATA", of: entries("data", "binaryData")}},
	model.KindNamespace: {{title: "STATUS", of: func(object) string { return "Active" }}},
}

// condition is the status of a condition by its type; "" if there is none.
func condition(name string, conditions []object) string {
	for _, c := range conditions {
		if c.text("type") == name {
			return c.text("status")
		}
	}
	return ""
}

// parents is a route's condition over all its parents: the worst of them.
func parents(name string) func(object) string { return entriesOf("parents", name) }

// entriesOf is a condition over all entries of a list in the status: the worst of them.
func entriesOf(list, name string) func(object) string {
	return func(o object) string {
		all := map[string]bool{}
		for _, p := range o.list("status", list) {
			all[condition(name, p.list("conditions"))] = true
		}
		for _, worst := range []string{"False", "Unknown", "", "True"} {
			if all[worst] {
				return worst
			}
		}
		return ""
	}
}

// accepted is a route's Accepted, and Partially where some of its rules are answered with an error.
func accepted(o object) string {
	for _, p := range o.list("status", "parents") {
		if condition("PartiallyInvalid", p.list("conditions")) == "True" {
			return "Partially"
		}
	}
	return parents("Accepted")(o)
}

// programmed is a Gateway's Programmed, and Partially where some of its listeners don't serve.
func programmed(o object) string {
	is := condition("Programmed", o.list("status", "conditions"))
	for _, l := range o.list("status", "listeners") {
		if is == "True" && condition("Programmed", l.list("conditions")) == "False" {
			return "Partially"
		}
	}
	return is
}

// externalIP is where a Service is reached from outside its cluster, as kubectl has it. A Service without any status is
// not of a cluster, or shown by one who does not keep it.
func externalIP(o object) string {
	fixed := o.texts("spec", "externalIPs")
	switch o.text("spec", "type") {
	case "ExternalName":
		return o.text("spec", "externalName")
	case "LoadBalancer":
		for _, i := range o.list("status", "loadBalancer", "ingress") {
			fixed = append(fixed, either(i.text("ip"), i.text("hostname")))
		}
		if len(fixed) == 0 && o["status"] == nil {
			return "<unknown>"
		}
		return either(words(fixed), "<pending>")
	}
	return either(words(fixed), "<none>")
}

// entries counts the entries of maps.
func entries(fields ...string) func(object) string {
	return func(o object) string {
		n := 0
		for _, f := range fields {
			entries, _ := o[f].(map[string]any)
			n += len(entries)
		}
		return fmt.Sprint(n)
	}
}

// eachOf shows some fields of each object.
func eachOf(list []object, path ...string) string {
	var all []string
	for _, o := range list {
		var one []string
		for _, field := range path {
			if text := o.text(field); text != "" {
				one = append(one, text)
			}
		}
		all = append(all, strings.Join(one, "/"))
	}
	return words(all)
}

func words(list []string) string { return strings.Join(list, ",") }

func either(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
