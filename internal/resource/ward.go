package resource

// Ward makes what content is tried in, apart from what serves. A dialect gives it. What can be tried can also be put
// aside: of content that was refused the dialect makes a substitute (Fragment.Refused).
type Ward interface {
	// Listener takes no connection. A proxy that has it asks for the route table.
	Listener(name, table string) Resource
	// Trial is a route table, or a listener that takes no connection: it holds pieces of others' parts, and nothing else
	// that can be refused.
	Trial(t Type, name string, pieces [][]byte) Resource
	// Pieces are what each origin was rendered to in a part of a resource; none if it can't be tried apart from the
	// others.
	Pieces(t Type, p *Part) map[Origin][][]byte
}
