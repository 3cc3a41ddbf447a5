package prompt

import (
	"bytes"
	"encoding/json/jsontext"
	"errors"
	"strconv"
)

// errUnexpectedKind ends the reading: a value is not what the API wants.
var errUnexpectedKind = errors.New("unexpected kind of value")

// parser walks through a body once. Strings are the only values that count if they are cut off.
type parser struct {
	d                   *jsontext.Decoder
	raw                 []byte     // the body
	tools, system, text textBuffer // in the order in which servers feed them to the model
}

// span is where a value stands in a body.
type span struct{ begin, end int }

func newParser(body []byte, max int) *parser {
	return &parser{
		d: jsontext.NewDecoder(bytes.NewBuffer(body),
			jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		raw:   body,
		tools: textBuffer{max: max}, system: textBuffer{max: max}, text: textBuffer{max: max},
	}
}

// memberReaders are what is read of bodies, by kind and member, besides the model and whether the answer is streamed.
var memberReaders = map[Kind]map[string]func(*parser, *Request) error{
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

func readMessages(p *parser, _ *Request) error { return p.readList(p.readMessage) }
func readTools(p *parser, _ *Request) error    { return p.readValue(&p.tools) }
func readText(p *parser, _ *Request) error     { return p.readValue(&p.text) }
func readSystem(p *parser, _ *Request) error   { return p.readContent(&p.system) }

func readInput(p *parser, _ *Request) error {
	if p.d.PeekKind() == '[' {
		return p.readList(p.readMessage)
	}
	// as in the list that the client sends later: what its user said
	p.text.addBytes([]byte{recordSeparator, unitSeparator})
	p.text.addBytes([]byte("user"))
	p.text.addBytes([]byte{unitSeparator})
	return p.readValue(&p.text)
}

func readMaxTokens(p *parser, r *Request) (err error) {
	r.MaxTokens, err = p.readNumber()
	return err
}

// readBody reads the whole object.
func (p *parser) readBody(r *Request) error {
	return p.readObject(func(name string) (err error) {
		read := memberReaders[r.Kind][name]
		switch {
		case name == "model":
			r.Model, r.model, err = p.readString()
		case name == "stream":
			r.Stream, err = p.readBool()
		case read != nil:
			err = read(p, r)
		default:
			err = p.d.SkipValue()
		}
		return err
	})
}

// readMessage reads one message, or another item of a conversation. Its members count in the order in which they are
// sent.
func (p *parser) readMessage() error {
	p.text.addBytes([]byte{recordSeparator})
	return p.readObject(func(name string) error {
		p.text.addBytes([]byte{unitSeparator})
		if name == "content" {
			return p.readContent(&p.text)
		}
		return p.readValue(&p.text)
	})
}

// readContent reads what a message says: a text, or a list of parts.
func (p *parser) readContent(to *textBuffer) error {
	if p.d.PeekKind() != '[' {
		return p.readValue(to)
	}
	return p.readList(func() error { return p.readPart(to) })
}

// readPart reads a part of a content: a text, or an image or another file, by its URL or as it is. Cache markers do not
// count: clients set them at the last part only, which is another one in each turn of a conversation.
func (p *parser) readPart(to *textBuffer) error {
	if p.d.PeekKind() != '{' {
		return p.readValue(to)
	}
	return p.readObject(func(name string) error {
		switch {
		case name == "type", name == "cache_control":
			return p.d.SkipValue()
		case name == "text":
			return p.readValue(to)
		case name == "content":
			return p.readContent(to)
		case name == "image_url" && p.d.PeekKind() == '{':
			return p.readObject(func(name string) error {
				if name != "url" {
					return p.d.SkipValue()
				}
				return p.readBlob(to)
			})
		}
		return p.readBlob(to)
	})
}

// readObject reads an object; do must read the value of the member that it is told.
func (p *parser) readObject(do func(name string) error) error {
	return p.readElements('{', '}', func() error {
		name, err := p.d.ReadToken()
		if err != nil {
			return err
		}
		return do(name.String())
	})
}

// readList reads an array; do must read one element.
func (p *parser) readList(do func() error) error { return p.readElements('[', ']', do) }

func (p *parser) readElements(begin, end jsontext.Kind, do func() error) error {
	if p.d.PeekKind() != begin {
		if err := p.d.SkipValue(); err != nil {
			return err
		}
		return errUnexpectedKind
	}
	if _, err := p.d.ReadToken(); err != nil {
		return err
	}
	for kind := p.d.PeekKind(); kind != end && kind != jsontext.KindInvalid; kind = p.d.PeekKind() {
		if err := do(); err != nil && err != errUnexpectedKind {
			return err
		}
	}
	_, err := p.d.ReadToken()
	return err
}

// readValue adds a value to a text: a string as it is meant, other values as they are written, null not at all.
func (p *parser) readValue(to *textBuffer) error {
	kind := p.d.PeekKind()
	v, err := p.d.ReadValue()
	switch {
	case err != nil:
		to.addBytes(p.truncatedString())
		return err
	case kind == '"':
		to.addString(v)
	case kind != 'n':
		to.addBytes(v)
	}
	return nil
}

// readBlob adds a value that may be large and is never shared in part, such as an image in a data URL.
func (p *parser) readBlob(to *textBuffer) error {
	v, err := p.d.ReadValue()
	if err == nil {
		to.addBlob(v)
	}
	return err
}

// readString is what a string says, "" of another value; at is where the value stands.
func (p *parser) readString() (word string, at span, err error) {
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

func (p *parser) readBool() (bool, error) {
	v, err := p.d.ReadValue()
	return string(v) == "true", err
}

func (p *parser) readNumber() (int, error) {
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

// truncatedString is what a string says that the body's end cuts off; nothing if it is no string.
func (p *parser) truncatedString() []byte {
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
