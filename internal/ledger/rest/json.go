package rest

import (
	"bytes"
	"encoding/json"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"io"

	"cardea.dev/cardea/internal/core/ledger"
)

// decodeJSON reads a body of one JSON value. An error says where it is. A member that comes twice is an error, too:
// readers would differ about which of them counts.
//
// huma reads a body twice: into an any, which it validates by the schema, and into its type. Contents of objects may be
// nearly all of a body, and their schema says only that they are objects. So the any has them as empty objects, and
// they are decoded one by one when they are used.
func decodeJSON(text []byte, into any) error {
	switch into := into.(type) {
	case *any:
		value, err := outlineJSON(text)
		if err == nil {
			*into = value
		}
		return err
	case *ledger.Content: // the whole body is an object, and huma validates nothing of it
		if err := checkObjectJSON(text); err != nil {
			return err
		}
	}
	err := json.Unmarshal(text, into)
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return errorAt(text, syntax.Offset, syntax.Error())
	}
	return err
}

// errorAt is an error with its line and column.
func errorAt(text []byte, offset int64, message string) error {
	before := text[:min(max(offset, 0), int64(len(text)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Errorf("not JSON at line %d, column %d: %s", line, column, message)
}

// maxValues is how many values a body may have beside contents. 20,000 edits with all of their members have fewer.
const maxValues = 500_000

// outlineJSON is the value of a JSON text, with empty objects in place of contents.
func outlineJSON(text []byte) (value any, err error) {
	o := outliner{jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true)), maxValues}
	if value, err = o.readValue(); err == nil {
		err = o.checkEnd()
	}
	return value, locateError(text, err)
}

// checkObjectJSON returns an error unless a JSON text is an object without duplicate members.
func checkObjectJSON(text []byte) error {
	o := outliner{jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true)), maxValues}
	err := o.SkipValue()
	if err == nil {
		err = o.checkEnd()
	}
	return locateError(text, err)
}

// locateError is an error of a text in words, with its place.
func locateError(text []byte, err error) error {
	if err == nil {
		return nil
	}
	var ours json.RawMessage
	if errors.Is(err, jsontext.ErrDuplicateName) {
		e, _ := errors.AsType[*jsontext.SyntacticError](err)
		return errorAt(text, e.ByteOffset, fmt.Sprintf("%q comes twice in one object", e.JSONPointer.LastToken()))
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(text, &ours)); ok { // which says it better
		return errorAt(text, syntax.Offset, syntax.Error())
	}
	return err
}

// outliner reads an outline.
type outliner struct {
	*jsontext.Decoder
	valuesLeft int // how many values there may be
}

var errValues = fmt.Errorf("it has more than %d values", maxValues)

// checkEnd is an error if something comes after the value.
func (o *outliner) checkEnd() error {
	if _, err := o.ReadToken(); err != io.EOF {
		return errors.Join(errors.New("it has more than one value"), err)
	}
	return nil
}

func (o *outliner) readValue() (any, error) {
	if o.valuesLeft--; o.valuesLeft < 0 {
		return nil, errValues
	}
	switch o.PeekKind() {
	case jsontext.KindBeginObject:
		return o.readObject()
	case jsontext.KindBeginArray:
		return o.readArray()
	}
	text, err := o.ReadValue()
	if err != nil {
		return nil, err
	}
	var value any
	return value, json.Unmarshal(text, &value)
}

func (o *outliner) readObject() (any, error) {
	members := map[string]any{}
	_, err := o.ReadToken()
	for err == nil && o.PeekKind() != jsontext.KindEndObject {
		var name jsontext.Token
		if name, err = o.ReadToken(); err != nil {
			break
		}
		member := name.String()
		if member == contentMember && o.PeekKind() == jsontext.KindBeginObject {
			members[member], err = map[string]any{}, o.SkipValue()
			continue
		}
		members[member], err = o.readValue()
	}
	if err == nil {
		_, err = o.ReadToken()
	}
	return members, err
}

func (o *outliner) readArray() (any, error) {
	list := []any{}
	_, err := o.ReadToken()
	for err == nil && o.PeekKind() != jsontext.KindEndArray {
		var item any
		item, err = o.readValue()
		list = append(list, item)
	}
	if err == nil {
		_, err = o.ReadToken()
	}
	return list, err
}

// contentMember is how members are called that are contents of objects.
const contentMember = "content"
