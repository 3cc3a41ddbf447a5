package files

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"
	"unicode/utf8"
)

// MaxFileSize is the most that is read of one file, in bytes.
const MaxFileSize = 64 << 20

const (
	// quietPeriod is how long a file must not have changed where the kernel can't say whether someone writes it.
	quietPeriod = 20 * time.Millisecond
	// writerTimeout is how long a file that is open for writing and does not change is waited for: some programs never
	// close.
	writerTimeout = time.Second
)

// errNotRegular is a folder, a device or a pipe with the name of a file.
var errNotRegular = errors.New("not a regular file")

// errLeadsNowhere is a link to a file or folder that is not there, such as one on a disk that is not mounted.
var errLeadsNowhere = errors.New("a link to a path that does not exist")

// errUnsettled is a file that is being written.
var errUnsettled = errors.New("being written")

// readWhole reads a whole file. Unless it is the first look at the folder, it refuses with errUnsettled while someone
// writes.
func readWhole(path string, now time.Time, wait bool) ([]byte, fs.FileInfo, error) {
	// A pipe would block whoever opens it.
	if info, err := os.Stat(path); err != nil {
		return nil, nil, err
	} else if !info.Mode().IsRegular() {
		return nil, nil, errNotRegular
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, errNotRegular
	}
	if before.Size() > MaxFileSize {
		return nil, before, tooBig(before.Size())
	}
	buffer := bytes.NewBuffer(make([]byte, 0, before.Size()+bytes.MinRead))
	if _, err := buffer.ReadFrom(io.LimitReader(f, MaxFileSize+1)); err != nil {
		return nil, before, err
	}
	if buffer.Len() > MaxFileSize {
		return nil, before, tooBig(int64(buffer.Len()))
	}
	if wait {
		if err := checkSettled(f, before, now); err != nil {
			return nil, before, err
		}
	}
	return buffer.Bytes(), before, nil
}

// checkSettled asks after the read whether it can have met a writer.
func checkSettled(f *os.File, before fs.FileInfo, now time.Time) error {
	writing, known := beingWritten(f)
	after, err := f.Stat()
	if err != nil {
		return err
	}
	age := now.Sub(after.ModTime())
	switch {
	case after.Size() != before.Size() || !after.ModTime().Equal(before.ModTime()):
		return errUnsettled
	case known && !writing:
		return nil
	case known && age < writerTimeout && age > -writerTimeout:
		return errUnsettled
	case !known && age < quietPeriod && age > -quietPeriod:
		return errUnsettled
	}
	return nil
}

func tooBig(size int64) error {
	return fmt.Errorf("the file is too big: %d MiB, at most %d MiB are read", size>>20, MaxFileSize>>20)
}

// invalidUTF8 finds the line (from 1) of the first byte that is no UTF-8; 0 if there is none.
func invalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return 0
	}
	line := 1
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		if r == utf8.RuneError && size <= 1 {
			break
		}
		if r == '\n' {
			line++
		}
		text = text[size:]
	}
	return line
}
