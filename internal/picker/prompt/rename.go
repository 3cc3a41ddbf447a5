package prompt

import (
	"bytes"
	"encoding/json/jsontext"
	"slices"
)

// Rename is the body that r was parsed from with another model; all other bytes are as they were. It is nil if that
// can't be known to be right: the model is not in the part of the body that was read, or the body is no JSON object.
func (r Request) Rename(body []byte, model string) []byte {
	quoted, err := jsontext.AppendQuote(nil, model)
	if err != nil {
		return nil // the name is no UTF-8
	}
	if r.model != (span{}) {
		return slices.Concat(body[:r.model.begin], quoted, body[r.model.end:])
	}
	begin := bytes.IndexByte(body, '{')
	if !r.Complete || begin < 0 {
		return nil
	}
	rest := bytes.TrimLeft(body[begin+1:], " \t\r\n")
	member := slices.Concat([]byte(`"model":`), quoted)
	if !bytes.HasPrefix(rest, []byte("}")) {
		member = append(member, ',')
	}
	return slices.Concat(body[:begin+1], member, rest)
}
