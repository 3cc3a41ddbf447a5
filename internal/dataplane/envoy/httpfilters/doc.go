// Package httpfilters is the list of HTTP filters that every connection manager of Envoy has, and how what a level
// states is put into it.
//
// The list is fixed: a change of it drains connections. A slot is a place in the list. Most hold a chain of filters,
// which the levels bring along and Envoy merges by name; some are one filter, and some of these keep state that no edit
// of a route table may reset, so their configuration is a resource of its own (ECDS); one has its whole configuration
// in the list. Nothing runs unless a level states it. docs/adr/0018-slots-for-filters.md gives the order, with reasons.
//
// The package owns the names of the slots, their order, and how settings are joined and encoded. It must never know
// what a filter does, where a level is rendered, or which object states what. Its functions are pure. Start reading at
// list.
package httpfilters
