package simulate

import (
	"fmt"
	"strings"
)

// canonicalPath makes a path what Envoy's normalize_path makes of it: dots resolved, a backslash a slash, unreserved
// characters unescaped and forbidden ones escaped (the path rules of Chromium's URL library). It is false for a path
// that Envoy refuses.
func canonicalPath(path string) (canonical string, ok bool) {
	out := make([]byte, 0, len(path))
	for i := 0; i < len(path); {
		c := path[i]
		dot := dotLength(path, i)
		switch {
		case dot > 0 && len(out) > 0 && out[len(out)-1] == '/':
			up, length := parseDotSegment(path, i+dot)
			switch {
			case length < 0: // more than dots
				out = append(out, '.')
				i += dot
			case up:
				out = dropLastSegment(out)
				i += dot + length
			default:
				i += dot + length
			}
		case dot > 0:
			out = append(out, '.')
			i += dot
		case c == '\\':
			out = append(out, '/')
			i++
		case c == '%':
			value, escaped := decodeHex(path, i)
			switch {
			case !escaped:
				out = append(out, '%')
				i++
				continue
			case value == 0:
				return "", false
			case isUnreserved(value):
				out = append(out, value)
			default:
				out = append(out, path[i:i+3]...)
			}
			i += 3
		case c < 0x21 || c >= 0x7f || strings.IndexByte("\"#<>?`{}^|", c) >= 0:
			out = fmt.Appendf(out, "%%%02X", c)
			i++
		default:
			out = append(out, c)
			i++
		}
	}
	return string(out), true
}

// dotLength is the length of the dot at i, which may be escaped; 0 if there is none.
func dotLength(path string, i int) int {
	if i < len(path) && path[i] == '.' {
		return 1
	}
	if i+2 < len(path) && strings.EqualFold(path[i:i+3], "%2e") {
		return 3
	}
	return 0
}

// parseDotSegment looks at what follows a dot that begins a segment: the segment is "." or ".." and length more
// characters belong to it, its slash among them, or it is neither and length is negative.
func parseDotSegment(path string, i int) (up bool, length int) {
	isEnd := func(i int) (int, bool) {
		if i == len(path) {
			return 0, true
		}
		return 1, path[i] == '/' || path[i] == '\\'
	}
	if slash, ok := isEnd(i); ok {
		return false, slash
	}
	if dot := dotLength(path, i); dot > 0 {
		if slash, ok := isEnd(i + dot); ok {
			return true, dot + slash
		}
	}
	return false, -1
}

// dropLastSegment drops the last segment of a path that ends in a slash.
func dropLastSegment(out []byte) []byte {
	if len(out) <= 1 {
		return out
	}
	return out[:strings.LastIndexByte(string(out[:len(out)-1]), '/')+1]
}

func decodeHex(path string, i int) (byte, bool) {
	if i+2 >= len(path) {
		return 0, false
	}
	var value byte
	for _, c := range []byte(path[i+1 : i+3]) {
		switch {
		case c >= '0' && c <= '9':
			value = value<<4 | (c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			value = value<<4 | ((c | 0x20) - 'a' + 10)
		default:
			return 0, false
		}
	}
	return value, true
}

func isUnreserved(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte("-._~", c) >= 0
}

var slashes = strings.NewReplacer("%2F", "/", "%2f", "/", "%5C", `\`, "%5c", `\`)

func unescapeSlashes(path string) string { return slashes.Replace(path) }

// mergeSlashes makes one slash of several. A path of slashes only keeps two, as Envoy keeps the first and the last.
func mergeSlashes(path string) string {
	if strings.Trim(path, "/") == "" && len(path) > 1 {
		return "//"
	}
	for strings.Contains(path, "//") {
		path = strings.ReplaceAll(path, "//", "/")
	}
	return path
}
