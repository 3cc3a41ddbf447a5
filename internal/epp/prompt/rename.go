package prompt

import (
	"bytes"
	"encoding/json/jsontext"
	"slices"
)

// WithModel is the body that r was parsed from with another model; all other bytes are as they were. It is nil if that
// can't be known to be right: the model is not in the part of the body that was read, or a body without a model says
// nothing that its kind is about.
func (r Request) WithModel(body []byte, model string) []byte {
	quoted, err := jsontext.AppendQuote(nil, model)
	if err != nil {
		return nil // the name is no UTF-8
	}
	if r.model != (span{}) {
		return slices.Concat(body[:r.model.begin], quoted, body[r.model.end:])
	}
	begin := bytes.IndexByte(body, '{')
	if !r.Complete || begin < 0 || len(r.Text) == 0 {
		return nil
	}
	return slices.Concat(body[:begin+1], []byte(`"model":`), quoted, []byte(","), body[begin+1:])
}
