package kubelet

import (
	"bytes"
	"io"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mostLog is how many bytes of a log are kept.
const mostLog = 16 << 20

// log is what a container has printed in one run, line by line, as it came.
type log struct {
	grown notifier

	mu      sync.Mutex
	lines   []line
	bytes   int
	dropped int // lines that were kept no longer
	streams []*stream
}

// line is a line with its end, if it had one.
type line struct {
	at   time.Time
	text []byte
}

func newLog() *log { return &log{} }

// writer takes one stream of the container's output.
func (l *log) writer() io.Writer {
	s := &stream{log: l}
	l.streams = append(l.streams, s)
	return s
}

func (l *log) add(text []byte) {
	l.mu.Lock()
	l.lines = append(l.lines, line{time.Now(), text})
	l.bytes += len(text)
	for l.bytes > mostLog {
		l.bytes -= len(l.lines[0].text)
		l.lines[0].text = nil
		l.lines = l.lines[1:]
		l.dropped++
	}
	l.mu.Unlock()
	l.grown.notify()
}

// since is what has come after the first n lines, and how many there are now.
func (l *log) since(n int) ([]line, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines[max(0, n-l.dropped):len(l.lines):len(l.lines)], l.dropped + len(l.lines)
}

// tail is the last lines, without their ends.
func (l *log) tail(n int) []string {
	all, _ := l.since(0)
	var last []string
	for _, line := range all[max(0, len(all)-n):] {
		last = append(last, string(bytes.TrimRight(line.text, "\r\n")))
	}
	return last
}

// end takes what has no line end.
func (l *log) end() {
	for _, s := range l.streams {
		s.flush()
	}
	l.grown.notify()
}

// stream cuts output into lines.
type stream struct {
	log     *log
	partial []byte
}

// Write never fails. It is called from one goroutine.
func (s *stream) Write(b []byte) (int, error) {
	size := len(b)
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			s.partial = append(s.partial, b...)
			return size, nil
		}
		s.partial = append(s.partial, b[:i+1]...)
		s.flush()
		b = b[i+1:]
	}
}

func (s *stream) flush() {
	if len(s.partial) > 0 {
		s.log.add(s.partial)
		s.partial = nil
	}
}

// copy writes the log as options want it, until done is closed if it is to be followed.
func (l *log) copy(w io.Writer, o *corev1.PodLogOptions, done, ended <-chan struct{}) error {
	from := time.Time{}
	if o.SinceTime != nil {
		from = o.SinceTime.Time
	} else if o.SinceSeconds != nil {
		from = time.Now().Add(-time.Duration(*o.SinceSeconds) * time.Second)
	}
	left := deref(o.LimitBytes, -1)
	seen, first := 0, true
	for {
		wake := l.grown.wait()
		var over bool
		select {
		case <-ended:
			over = true
		default:
		}
		var lines []line
		lines, seen = l.since(seen)
		if first && o.TailLines != nil {
			lines = lines[max(0, len(lines)-int(*o.TailLines)):]
		}
		first = false
		for _, line := range lines {
			if line.at.Before(from) {
				continue
			}
			text := line.text
			if o.Timestamps {
				text = append([]byte(line.at.UTC().Format(time.RFC3339Nano)+" "), text...)
			}
			if left >= 0 {
				text = text[:min(int64(len(text)), left)]
				left -= int64(len(text))
			}
			if _, err := w.Write(text); err != nil {
				return err
			}
			if left == 0 {
				return nil
			}
		}
		if !o.Follow || over {
			return nil
		}
		select {
		case <-wake:
		case <-ended:
		case <-done:
			return nil
		}
	}
}

// logOptions reads the options of a request.
func logOptions(query func(string) string) (*corev1.PodLogOptions, error) {
	o := &corev1.PodLogOptions{
		Follow: query("follow") == "true", Previous: query("previous") == "true", Timestamps: query("timestamps") == "true",
	}
	for name, into := range map[string]**int64{"tailLines": &o.TailLines, "sinceSeconds": &o.SinceSeconds,
		"limitBytes": &o.LimitBytes} {
		if text := query(name); text != "" {
			number, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return nil, err
			}
			*into = &number
		}
	}
	if text := query("sinceTime"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, err
		}
		o.SinceTime = &metav1.Time{Time: at}
	}
	return o, nil
}
