// Command image writes a container image of Cardea as an OCI archive, without a container engine: a layer with the
// certificate authorities that browsers trust, and one with the program, for each platform.
//
// It owns what is in the image. It must never know how the program is built. The same programs give the same bytes: it
// takes no time from a clock and nothing from the machine. It is a module of its own, so that what it needs is none of
// Cardea's dependencies. Start reading at build.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	var o options
	flag.StringVar(&o.out, "o", "image.tar", "the archive to write")
	flag.StringVar(&o.name, "name", "cardea", "the image's name, of a registry or not")
	flag.StringVar(&o.version, "version", "dev", "the image's tag, and its label")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: image [flags] OS/ARCH=PROGRAM...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := run(o, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// options say what image to write, and where.
type options struct{ out, name, version string }

func run(o options, programs []string) error {
	if len(programs) == 0 {
		return fmt.Errorf("name a program: linux/amd64=bin/cardea")
	}
	var list []program
	for _, arg := range programs {
		platform, path, found := strings.Cut(arg, "=")
		system, arch, slash := strings.Cut(platform, "/")
		if !found || !slash {
			return fmt.Errorf("%q: want OS/ARCH=PROGRAM", arg)
		}
		list = append(list, program{system: system, arch: arch, path: path})
	}
	index, err := build(o, list)
	if err != nil {
		return err
	}
	return write(o, index)
}
