package resource

import (
	"encoding/binary"
	"hash/fnv"
)

// Closing makes parts that answer an error to everything. A part that it closes is one length-delimited field, and its first
// piece holds the field's tag, its length, and what gives the part its place, such as a virtual host's name and domains.
type Closing struct {
	End []byte // what follows there, in place of the part's other pieces
}

// Close is what stands in for a part that may not be sent: it keeps the part's place, and nothing of it can be refused. It
// is nil if the part can't be closed.
func (c *Closing) Close(p *Part) *Part {
	if c == nil || len(p.Bytes) == 0 {
		return nil
	}
	piece := p.Bytes[0]
	_, tag := binary.Uvarint(piece)
	if tag <= 0 {
		return nil
	}
	_, length := binary.Uvarint(piece[tag:])
	if length <= 0 {
		return nil
	}
	own := piece[tag+length:]
	head := make([]byte, 0, tag+binary.MaxVarintLen32+len(own))
	head = append(head, piece[:tag]...)
	head = binary.AppendUvarint(head, uint64(len(own)+len(c.End)))
	head = append(head, own...)
	h := fnv.New64a()
	_, _ = h.Write(head) // never fails
	_, _ = h.Write(c.End)
	return &Part{ID: p.ID, Hash: h.Sum64(), Bytes: [][]byte{head, c.End}, Size: len(head) + len(c.End)}
}
