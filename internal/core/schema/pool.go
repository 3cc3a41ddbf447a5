package schema

import "reflect"

// Pool lets objects that were stored share what is equal in them: a text, a list of matches, a whole spec. Objects
// never change, so nobody can tell, and most objects of a folder are alike. It is for one load and one goroutine; the
// zero Pool is empty.
type Pool struct {
	texts map[string]string
	parts map[part]reflect.Value
}

// part is what a pointer, a slice or a map holds.
type part struct {
	of      *layout
	content string
}

const (
	poolSize = 4096 // texts, and parts; then the pool begins anew
	bigPart  = 512  // bytes; what is longer is hardly there twice
)

// internText returns b as a string.
func (p *Pool) internText(b []byte) string {
	if len(b) > bigPart {
		return string(b)
	}
	if known, ok := p.texts[string(b)]; ok {
		return known
	}
	if p.texts == nil || len(p.texts) == poolSize {
		p.texts = map[string]string{}
	}
	made := string(b)
	p.texts[made] = made
	return made
}

// internPart returns the value of a stored content.
func (p *Pool) internPart(l *layout, from *storedReader, content []byte) reflect.Value {
	if known, ok := p.parts[part{l, string(content)}]; ok {
		return known
	}
	s := storedReader{rest: content, pool: p}
	made := l.decodeContent(&s)
	if s.broken || len(s.rest) > 0 {
		from.markBroken()
		return reflect.Zero(l.of)
	}
	if len(content) <= bigPart {
		if p.parts == nil || len(p.parts) == poolSize {
			p.parts = map[part]reflect.Value{}
		}
		p.parts[part{l, string(content)}] = made
	}
	return made
}
