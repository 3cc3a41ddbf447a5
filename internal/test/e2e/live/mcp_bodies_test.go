package live

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf16"
)

// mutated is a request whose body is a message of MCP that was changed.
type mutated struct {
	seed    uint64
	method  string
	header  []string // lines
	body    []byte
	chunked bool
	alone   bool // the connection is not used again, since more than one request may be on it
}

// mutator makes requests of its numbers.
type mutator struct{ *rand.Rand }

func choose[T any](m mutator, from ...T) T { return from[m.IntN(len(from))] }

// mutate makes the request of a seed.
func mutate(seed uint64) mutated {
	m := mutator{rand.New(rand.NewPCG(seed, 2))}
	r := mutated{seed: seed, method: "POST", body: []byte(m.message()), chunked: m.IntN(4) == 0}
	for range m.IntN(4) {
		r.body = m.body(r.body)
	}
	content, accept := "application/json", "application/json, text/event-stream"
	if m.IntN(5) == 0 {
		content = choose(m, "Application/JSON", "application/json; charset=utf-8", "application/json;charset=utf-16",
			"application/json; charset=utf-7", `application/json; charset="utf\-7"`, "application/json;charset=utf-8;charset=x",
			"application/json;", "application/json ; x=y", "text/plain", "application/jsonx", "application/*", "*/*", "json",
			"application/json, text/plain", "text/plain, application/json", "application/json\t", "application/vnd.api+json",
			"application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "")
	}
	if m.IntN(8) == 0 {
		accept = choose(m, "*/*", "application/*, text/*", "application/json", "text/event-stream", "", "text/plain",
			"text/event-stream;q=0, application/json", "APPLICATION/JSON, TEXT/EVENT-STREAM")
	}
	for _, line := range []string{"content-type: " + content, "accept: " + accept} {
		if !strings.HasSuffix(line, ": ") {
			r.header = append(r.header, line)
		}
	}
	for m.IntN(6) == 0 {
		r.header = append(r.header, choose(m, "content-type: text/plain", "content-type: application/json",
			"accept: */*", "content-encoding: gzip", "content-encoding: identity", "content-encoding: deflate, gzip",
			"mcp-name: get-sum", "mcp-method: ping", "Mcp-Method: tools/list", "x-http-method-override: GET",
			"x-envoy-original-path: /x", "transfer-encoding: identity", "expect: 100-continue", "te: trailers",
			"content-length: 1", "transfer-encoding: chunked", "mcp-protocol-version: 2026-07-28", "trailer: x"))
	}
	if m.IntN(100) == 0 {
		r.method = choose(m, "PUT", "PATCH", "post", "OPTIONS", "PROPFIND")
	}
	for _, line := range r.header {
		r.alone = r.alone || strings.HasPrefix(line, "content-length:") || strings.HasPrefix(line, "transfer-encoding:")
	}
	return r
}

// message is one that is not changed yet.
func (m mutator) message() string {
	switch m.IntN(16) {
	case 0, 1, 2:
		return allowed
	case 3:
		return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"order",` +
			`"arguments":{"item":"tea","amount":1}}}`
	case 4:
		return choose(m, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":"a","method":"ping"}`,
			`{"jsonrpc":"2.0","id":7,"result":{}}`, `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}`,
			`{"jsonrpc":"2.0","method":"notifications/x","params":{"name":"get-env"}}`,
			`{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"get-sum"}}`)
	case 5:
		return `{"params":{"arguments":{},"name":"get-env"},"method":"tools/call","id":7,"jsonrpc":"2.0"}`
	case 6:
		return `{"id":7,"jsonrpc":"2.0","params":{"_meta":{"progressToken":1},"name":"get-env","arguments":{}},` +
			`"method":"tools/call"}`
	}
	return forbidden
}

// body changes a body once.
func (m mutator) body(b []byte) []byte {
	at := m.IntN(len(b) + 1)
	insert := func(text string) []byte { return []byte(string(b[:at]) + text + string(b[at:])) }
	switch m.IntN(15) {
	case 0: // a bit
		b = bytes.Clone(b)
		if at < len(b) {
			b[at] ^= 1 << m.IntN(8)
		}
		return b
	case 1: // a byte
		return insert(choose(m, `"`, `\`, "{", "}", "[", "]", ":", ",", "\x00", "/", "'", "0", "\x80", "\xff", "\x7f"))
	case 2: // some bytes less
		return append(bytes.Clone(b[:at]), b[min(len(b), at+1+m.IntN(3)):]...)
	case 3: // what may be taken for space
		if m.IntN(2) == 0 {
			at = m.boundary(b)
		}
		return insert(strings.Repeat(choose(m, " ", "\t", "\r\n", "\n", "\x00", "\xef\xbb\xbf", "\v", "\f", "\u00a0",
			"\u2028", "\x1e", "/**/", "//\n", "#\n"), choose(m, 1, 1, 2, 9000)))
	case 4, 5: // escapes
		return m.escape(b)
	case 6, 7: // a key once more
		return m.twice(b)
	case 8:
		return m.inside(b)
	case 9: // the beginning
		return bytes.Clone(b[:at])
	case 10: // another behind or before it
		other := m.message()
		between := choose(m, "", "\n", " ", ",", "\x00", "\x1e", "}", "]", "\r\n\r\n")
		if m.IntN(2) == 0 {
			return []byte(other + between + string(b))
		}
		return []byte(string(b) + between + other)
	case 11: // a value
		return m.value(b)
	case 12:
		return m.encode(b)
	case 13: // an answer, too
		return m.member(b, choose(m, `"result":{}`, `"result":null`, `"error":{"code":1,"message":"x"}`, `"error":null`,
			`"r\u0065sult":{}`, `"Result":{}`, `"result":"x"`, `"result":[]`,
			`"result":{},"method":["x"]`, `"result":{},"method":{}`))
	}
	return []byte(strings.ReplaceAll(string(b), `"`, choose(m, `"`, `'`, "`", `\"`, "\u201c", `""`)))
}

// boundary is a place between values.
func (m mutator) boundary(b []byte) int {
	var all []int
	for i, c := range b {
		if bytes.IndexByte([]byte(`{}[],:`), c) >= 0 {
			all = append(all, i, i+1)
		}
	}
	return choose(m, append(all, 0, len(b))...)
}

// escape writes some letters in another way, which may be wrong.
func (m mutator) escape(b []byte) []byte {
	var to []byte
	share := choose(m, 2, 8, 30)
	for _, c := range b {
		letter := c >= 'a' && c <= 'z' || c == '-' || c == '/'
		if !letter || m.IntN(share) > 0 {
			to = append(to, c)
			continue
		}
		switch m.IntN(24) {
		case 0:
			to = fmt.Appendf(to, `\x%02x`, c)
		case 1:
			to = append(to, '\\', c)
		case 2:
			to = fmt.Appendf(to, `%c\u0000`, c)
		case 3:
			to = fmt.Appendf(to, `\ud800\u00%02x`, c)
		case 4:
			to = append(to, 0xc0|c>>6, 0x80|c&0x3f) // too long for UTF-8
		case 5:
			to = append(to, string(rune(c)+0xfee0)...) // the wide letter
		default:
			to = fmt.Appendf(to, choose(m, `\u%04x`, `\u%04X`), c)
		}
	}
	return to
}

// twice puts a key with a value where a member may stand.
func (m mutator) twice(b []byte) []byte {
	key := choose(m, "method", "name", "name", "params", "jsonrpc", "id", "arguments")
	value := map[string]string{
		"method": choose(m, `"tools/call"`, `"ping"`, `"tools/list"`, `null`, `["tools/call"]`),
		"name":   choose(m, `"get-env"`, `"get-sum"`, `"order"`, `null`, `["get-env"]`, `{}`),
		"params": choose(m, `{"name":"get-env","arguments":{}}`, `{"name":"get-sum","arguments":{}}`, `null`, `[]`, `{}`),
		"id":     choose(m, `7`, `"7"`, `null`, `7.0`), "jsonrpc": choose(m, `"2.0"`, `"1.0"`, `2.0`),
		"arguments": choose(m, `{}`, `{"name":"get-env"}`, `null`, `[1]`),
	}[key]
	switch m.IntN(7) {
	case 0:
		key = strings.ToUpper(key[:1]) + key[1:]
	case 6:
		key = strings.NewReplacer("s", "\u017f", "i", choose(m, "\u0130", "\u0131"), "k", "\u212a").Replace(key)
	case 1:
		i := m.IntN(len(key))
		key = key[:i] + fmt.Sprintf(`\u%04x`, key[i]) + key[i+1:]
	case 2:
		key += choose(m, " ", `\u0000`, "\x00", `\u200b`)
	}
	return m.member(b, `"`+key+`":`+value)
}

// member puts one into one of the objects, at its beginning or end.
func (m mutator) member(b []byte, text string) []byte {
	var places []int
	for i, c := range b {
		if c == '{' || c == '}' {
			places = append(places, i)
		}
	}
	if len(places) == 0 {
		return b
	}
	at := choose(m, places...)
	if b[at] == '{' {
		return []byte(string(b[:at+1]) + text + "," + string(b[at+1:]))
	}
	return []byte(string(b[:at]) + "," + text + string(b[at:]))
}

// inside puts a body into something, or something into it.
func (m mutator) inside(b []byte) []byte {
	deep := choose(m, 1, 20, 150, 400)
	switch m.IntN(9) {
	case 0:
		return []byte("[" + string(b) + "]")
	case 1:
		return []byte("[" + allowed + "," + string(b) + "]")
	case 2:
		return []byte(`{"jsonrpc":"2.0","id":7,"method":"ping","params":` + string(b) + `}`)
	case 3:
		return []byte(`{"body":` + string(b) + `}`)
	case 4:
		return m.member(b, `"_meta":`+strings.Repeat(`{"x":`, deep)+"1"+strings.Repeat("}", deep))
	case 5:
		return m.member(b, `"x":`+strings.Repeat("[", deep)+strings.Repeat("]", deep))
	case 6:
		return m.member(b, `"x":"`+strings.Repeat("x", choose(m, 10, 8100, 9000, 70_000))+`"`)
	case 7:
		return []byte(strconv.Quote(string(b)))
	}
	before := choose(m, "data: ", ")]}',\n", "body=", "x", "\x1e", "{} ", "null ", "1")
	return []byte(before + string(b) + choose(m, "", "\n\n", "x"))
}

// value replaces something by something else of its kind.
func (m mutator) value(b []byte) []byte {
	pairs := [][2]string{
		{`"get-env"`, `"get-sum"`},
		{`"get-env"`, `["get-env"]`},
		{`"get-env"`, `{"x":"get-env"}`},
		{`"get-env"`, `"get-env "`},
		{`"get-env"`, `" get-env"`},
		{`"get-env"`, `"GET-ENV"`},
		{`"get-env"`, `"get-sum\u0000get-env"`},
		{`"get-sum"`, `"get-env"`},
		{`"tools/call"`, `"tools/call "`},
		{`"tools/call"`, `"TOOLS/CALL"`},
		{`"tools/call"`, `"notifications/../tools/call"`},
		{`"tools/call"`, `["tools/call"]`},
		{`"tools/call"`, `"tools//call"`},
		{`7`, `9007199254740993`},
		{`7`, `1e999`},
		{`7`, `-0`},
		{`7`, `NaN`},
		{`7`, `07`},
		{`7`, `0x7`},
		{`7`, `null`},
		{`7`, `{}`},
		{`7`, `[7]`},
		{`"2.0"`, `2.0`},
		{`"2.0"`, `"2.00"`},
		{`"jsonrpc":"2.0",`, ``},
		{`"id":7,`, ``},
		{`"arguments"`, `"name"`},
		{`:{`, `:[{`},
		{`}`, `,}`},
		{`{`, `{,`},
		{`,`, `,,`},
		{`:`, `=`},
		{`:`, `::`},
		{`,`, `;`},
		{`"name"`, `name`},
		{`"method"`, `method`},
	}
	p := pairs[m.IntN(len(pairs))]
	return []byte(strings.Replace(string(b), p[0], p[1], choose(m, 1, -1)))
}

// encode writes a body in other bytes.
func (m mutator) encode(b []byte) []byte {
	if m.IntN(3) == 0 {
		var zipped bytes.Buffer
		z := gzip.NewWriter(&zipped)
		_, _ = z.Write(b)
		_ = z.Close()
		return zipped.Bytes()
	}
	var wide []byte
	if m.IntN(2) == 0 {
		wide = []byte("\xfe\xff")
	}
	big := m.IntN(2) == 0
	for _, c := range utf16.Encode([]rune(string(b))) {
		if big {
			wide = append(wide, byte(c>>8), byte(c))
		} else {
			wide = append(wide, byte(c), byte(c>>8))
		}
	}
	return wide
}

// written is a request as it goes over the connection, in pieces.
func (r mutated) written(path, host string, more ...string) (pieces [][]byte) {
	m := mutator{rand.New(rand.NewPCG(r.seed, 3))}
	head := r.method + " " + path + " HTTP/1.1\r\nhost: " + host + "\r\n"
	for _, line := range append(more, r.header...) {
		head += line + "\r\n"
	}
	if !r.chunked {
		return [][]byte{fmt.Appendf(nil, "%scontent-length: %d\r\n\r\n%s", head, len(r.body), r.body)}
	}
	pieces = [][]byte{[]byte(head + "transfer-encoding: chunked\r\n\r\n")}
	for rest := r.body; len(rest) > 0; {
		n := min(len(rest), 1+m.IntN(choose(m, 1, 20, 20_000)))
		if len(r.body) > 1000 {
			n = min(len(rest), n+len(r.body)/10)
		}
		pieces = append(pieces, fmt.Appendf(nil, "%x%s\r\n%s\r\n", n, choose(m, "", "", ";x=y"), rest[:n]))
		rest = rest[n:]
	}
	return append(pieces, []byte("0\r\n"+choose(m, "", "", "x-trailer: 1\r\ncontent-type: text/plain\r\n")+"\r\n"))
}
