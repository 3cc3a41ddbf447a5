package pluginbuild

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Cardea is the module of the program.
const Cardea = "cardea.dev/cardea"

// Module is a package of a module, and where it comes from: a version of its module, or a folder.
type Module struct {
	Package string // its import path: "example.com/signing"
	Version string // "v1.2.0", or what else the Go command takes: "latest", a branch; "" if it comes of a folder
	Folder  string // the absolute path of the folder that has the module's go.mod
	Path    string // the module's, which may be shorter than the package's; "" if it is not known before it is fetched
}

// ParseModule reads PACKAGE@VERSION or PACKAGE=FOLDER.
func ParseModule(text string) (Module, error) {
	name, folder, isFolder := strings.Cut(text, "=")
	if isFolder {
		return inFolder(name, folder)
	}
	name, version, _ := strings.Cut(text, "@")
	if name == "" || version == "" {
		return Module{}, fmt.Errorf("%q has no version; write MODULE@VERSION, MODULE@latest or MODULE=FOLDER", text)
	}
	if name == Cardea {
		return Module{}, errors.New("name Cardea itself with --cardea VERSION or --cardea =FOLDER")
	}
	return Module{Package: name, Version: version}, nil
}

// ParseCardea reads where Cardea itself comes from: VERSION or =FOLDER.
func ParseCardea(text string) (Module, error) {
	if folder, isFolder := strings.CutPrefix(text, "="); isFolder {
		return inFolder(Cardea, folder)
	}
	return Module{Package: Cardea, Path: Cardea, Version: text}, nil
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`)

func inFolder(name, folder string) (Module, error) {
	if name == "" || folder == "" {
		return Module{}, fmt.Errorf("%q is not MODULE=FOLDER", name+"="+folder)
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return Module{}, err
	}
	text, err := os.ReadFile(filepath.Join(folder, "go.mod"))
	if err != nil {
		return Module{}, fmt.Errorf("%s is not the folder of a module: %w", folder, err)
	}
	found := moduleLine.FindSubmatch(text)
	if found == nil {
		return Module{}, fmt.Errorf("%s/go.mod does not say which module it is", folder)
	}
	path := string(found[1])
	if name != path && !strings.HasPrefix(name, path+"/") {
		return Module{}, fmt.Errorf("the module in %s is %s, not %s", folder, path, name)
	}
	return Module{Package: name, Folder: folder, Path: path}, nil
}
