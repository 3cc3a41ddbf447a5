package prompt

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"strconv"
)

// errShape ends the reading: a value is not what the API wants.
var errShape = errors.New("unexpected kind of value")

// parser walks through a body once. Strings are the only values that count if they are cut off.
type parser struct {
	d           *jsontext.Decoder
	raw         []byte // the body
	tools, text text
}

func newParser(body []byte, max int) *parser {
	return &parser{
		d: jsontext.NewDecoder(bytes.NewBuffer(body),
			jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		raw:   body,
		tools: text{max: max},
		text:  text{max: max},
	}
}

// body reads the whole object.
func (p *parser) body(r *Request) error {
	return p.object(func(name string) (err error) {
		switch {
		case name == "model":
			r.Model, err = p.word()
		case name == "stream":
			r.Stream, err = p.truth()
		case name == "max_tokens" && r.Kind != Embedding, name == "max_completion_tokens" && r.Kind == Chat:
			r.MaxTokens, err = p.number()
		case name == "messages" && r.Kind == Chat:
			err = p.list(p.message)
		case name == "tools" && r.Kind == Chat:
			err = p.value(&p.tools)
		case name == "prompt" && r.Kind == Completion, name == "input" && r.Kind == Embedding:
			err = p.value(&p.text)
		default:
			err = p.d.SkipValue()
		}
		return err
	})
}

// message reads one message. Its members count in the order in which they are sent.
func (p *parser) message() error {
	p.text.add([]byte{recordSeparator})
	return p.object(func(name string) error {
		p.text.add([]byte{unitSeparator})
		if name == "content" && p.d.PeekKind() == '[' {
			return p.list(p.part)
		}
		return p.value(&p.text)
	})
}

// part reads a part of a message's content: a text, or an image or another file by its URL.
func (p *parser) part() error {
	if p.d.PeekKind() != '{' {
		return p.value(&p.text)
	}
	return p.object(func(name string) error {
		switch {
		case name == "type":
			return p.d.SkipValue()
		case name == "text":
			return p.value(&p.text)
		case name == "image_url" && p.d.PeekKind() == '{':
			return p.object(func(name string) error {
				if name != "url" {
					return p.d.SkipValue()
				}
				return p.blob()
			})
		}
		return p.blob()
	})
}

// object reads an object; do must read the value of the member that it is told.
func (p *parser) object(do func(name string) error) error {
	return p.inside('{', '}', func() error {
		name, err := p.d.ReadToken()
		if err != nil {
			return err
		}
		return do(name.String())
	})
}

// list reads an array; do must read one element.
func (p *parser) list(do func() error) error { return p.inside('[', ']', do) }

func (p *parser) inside(begin, end jsontext.Kind, do func() error) error {
	if p.d.PeekKind() != begin {
		if err := p.d.SkipValue(); err != nil {
			return err
		}
		return errShape
	}
	if _, err := p.d.ReadToken(); err != nil {
		return err
	}
	for kind := p.d.PeekKind(); kind != end && kind != jsontext.KindInvalid; kind = p.d.PeekKind() {
		if err := do(); err != nil && err != errShape {
			return err
		}
	}
	_, err := p.d.ReadToken()
	return err
}

// value adds a value to a text: a string as it is meant, other values as they are written, null not at all.
func (p *parser) value(to *text) error {
	kind := p.d.PeekKind()
	v, err := p.d.ReadValue()
	switch {
	case err != nil:
		to.add(p.cutOff())
		return err
	case kind == '"':
		to.addString(v)
	case kind != 'n':
		to.add(v)
	}
	return nil
}

// blob adds a value that may be large and is never shared in part, such as an image in a data URL.
func (p *parser) blob() error {
	v, err := p.d.ReadValue()
	if err == nil {
		p.text.addBlob(v)
	}
	return err
}

func (p *parser) word() (string, error) {
	kind := p.d.PeekKind()
	v, err := p.d.ReadValue()
	if err != nil || kind != '"' {
		return "", err
	}
	word, _ := jsontext.AppendUnquote(nil, v)
	return string(word), nil
}

func (p *parser) truth() (bool, error) {
	v, err := p.d.ReadValue()
	return string(v) == "true", err
}

func (p *parser) number() (int, error) {
	v, err := p.d.ReadValue()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(v), 10, 32)
	if err != nil || n < 0 || p.d.InputOffset() == int64(len(p.raw)) { // or the end cuts it off
		return 0, nil
	}
	return int(n), nil
}

// cutOff is what a string says that the body's end cuts off; nothing if it is no string.
func (p *parser) cutOff() []byte {
	rest := bytes.TrimLeft(p.raw[p.d.InputOffset():], " \t\r\n:,")
	if len(rest) == 0 || rest[0] != '"' {
		return nil
	}
	whole := 1
	for whole < len(rest) && rest[whole] != '"' {
		step := 1
		if rest[whole] == '\\' {
			step = 2
			if whole+1 < len(rest) && rest[whole+1] == 'u' {
				step = 6
			}
		}
		if whole+step > len(rest) {
			break
		}
		whole += step
	}
	said, _ := jsontext.AppendUnquote(nil, append(bytes.Clone(rest[:whole]), '"'))
	return said
}
