package resource

// Ward makes what content of route tables is tried in, apart from what serves. A dialect gives it.
type Ward interface {
	// Listener takes no connection. A proxy that has it asks for the route table.
	Listener(name, table string) Resource
	// Table holds pieces of other tables' parts, and nothing else that can be refused.
	Table(name string, pieces [][]byte) Resource
	// Pieces are what each origin was rendered to in a part of a table.
	Pieces(p *Part) map[Origin][][]byte
}
