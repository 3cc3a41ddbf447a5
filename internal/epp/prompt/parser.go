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
	d                   *jsontext.Decoder
	raw                 []byte // the body
	tools, system, text text   // in the order in which servers feed them to the model
}

// span is where a value stands in a body.
type span struct{ begin, end int }

func newParser(body []byte, max int) *parser {
	return &parser{
		d: jsontext.NewDecoder(bytes.NewBuffer(body),
			jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		raw:   body,
		tools: text{max: max}, system: text{max: max}, text: text{max: max},
	}
}

// members are what is read of bodies, by kind and member, besides the model and whether the answer is streamed.
var members = map[Kind]map[string]func(*parser, *Request) error{
	Chat: {
		"messages": readMessages, "tools": readTools, "max_tokens": readMaxTokens, "max_completion_tokens": readMaxTokens,
	},
	Messages: {
		"system": readSystem, "messages": readMessages, "tools": readTools, "max_tokens": readMaxTokens,
	},
	Responses: {
		"instructions": readSystem, "input": readInput, "tools": readTools, "max_output_tokens": readMaxTokens,
	},
	Completion: {"prompt": readText, "max_tokens": readMaxTokens},
	Embedding:  {"input": readText},
}

func readMessages(p *parser, _ *Request) error { return p.list(p.message) }
func readTools(p *parser, _ *Request) error    { return p.value(&p.tools) }
func readText(p *parser, _ *Request) error     { return p.value(&p.text) }
func readSystem(p *parser, _ *Request) error   { return p.content(&p.system) }

func readInput(p *parser, _ *Request) error {
	if p.d.PeekKind() == '[' {
		return p.list(p.message)
	}
	p.text.add([]byte{recordSeparator, unitSeparator}) // as in the list that the client sends later: what its user said
	p.text.add([]byte("user"))
	p.text.add([]byte{unitSeparator})
	return p.value(&p.text)
}

func readMaxTokens(p *parser, r *Request) (err error) {
	r.MaxTokens, err = p.number()
	return err
}

// body reads the whole object.
func (p *parser) body(r *Request) error {
	return p.object(func(name string) (err error) {
		read := members[r.Kind][name]
		switch {
		case name == "model":
			r.Model, r.model, err = p.word()
		case name == "stream":
			r.Stream, err = p.truth()
		case read != nil:
			err = read(p, r)
		default:
			err = p.d.SkipValue()
		}
		return err
	})
}

// message reads one message, or another item of a conversation. Its members count in the order in which they are sent.
func (p *parser) message() error {
	p.text.add([]byte{recordSeparator})
	return p.object(func(name string) error {
		p.text.add([]byte{unitSeparator})
		if name == "content" {
			return p.content(&p.text)
		}
		return p.value(&p.text)
	})
}

// content reads what a message says: a text, or a list of parts.
func (p *parser) content(to *text) error {
	if p.d.PeekKind() != '[' {
		return p.value(to)
	}
	return p.list(func() error { return p.part(to) })
}

// part reads a part of a content: a text, or an image or another file, by its URL or as it is. Cache markers do not
// count: clients set them at the last part only, which is another one in each turn of a conversation.
func (p *parser) part(to *text) error {
	if p.d.PeekKind() != '{' {
		return p.value(to)
	}
	return p.object(func(name string) error {
		switch {
		case name == "type", name == "cache_control":
			return p.d.SkipValue()
		case name == "text":
			return p.value(to)
		case name == "content":
			return p.content(to)
		case name == "image_url" && p.d.PeekKind() == '{':
			return p.object(func(name string) error {
				if name != "url" {
					return p.d.SkipValue()
				}
				return p.blob(to)
			})
		}
		return p.blob(to)
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
func (p *parser) blob(to *text) error {
	v, err := p.d.ReadValue()
	if err == nil {
		to.addBlob(v)
	}
	return err
}

// word is what a string says, "" of another value; at is where the value stands.
func (p *parser) word() (word string, at span, err error) {
	kind := p.d.PeekKind()
	v, err := p.d.ReadValue()
	if err != nil {
		return "", span{}, err
	}
	end := int(p.d.InputOffset())
	at = span{end - len(v), end}
	if kind != '"' {
		return "", at, nil
	}
	said, _ := jsontext.AppendUnquote(nil, v)
	return string(said), at, nil
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
