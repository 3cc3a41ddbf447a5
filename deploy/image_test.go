package deploy

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

const testVersion = "v9.8.7-test.1"

// TestImage builds the image for this machine, reads it as a registry would, and runs its program.
func TestImage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("an image's programs are for Linux")
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "built")
	buildProgram(t, program)
	archive := buildImage(t, program, filepath.Join(dir, "image.tar"))
	if again := buildImage(t, program, filepath.Join(dir, "again.tar")); !bytes.Equal(archive, again) {
		t.Error("two runs give different images")
	}
	blobs := unpack(t, archive)
	var list index
	decode(t, blobs["index.json"], &list)
	if len(list.Manifests) != 1 || list.Manifests[0].Annotations["io.containerd.image.name"] !=
		"registry.example/team/cardea:"+testVersion {
		t.Fatalf("the archive has %+v", list.Manifests)
	}
	var platforms index
	decode(t, blob(t, blobs, list.Manifests[0]), &platforms)
	if len(platforms.Manifests) != 1 || platforms.Manifests[0].Platform.Architecture != runtime.GOARCH ||
		platforms.Manifests[0].ArtifactType != "" {
		t.Fatalf("the image has %+v", platforms.Manifests)
	}
	checkPlatform(t, dir, blobs, platforms.Manifests[0])
}

// checkPlatform looks at what is in the image for one platform.
func checkPlatform(t *testing.T, dir string, blobs map[string][]byte, platform descriptor) {
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	decode(t, blob(t, blobs, platform), &manifest)
	var config struct {
		Architecture, OS string
		Config           struct {
			User       string
			Entrypoint []string
			Labels     map[string]string
		}
	}
	decode(t, blob(t, blobs, manifest.Config), &config)
	c := config.Config
	if config.OS != "linux" || c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/cardea"}) ||
		c.Labels["org.opencontainers.image.version"] != testVersion {
		t.Errorf("the configuration is %+v", config)
	}
	files := map[string][]byte{}
	for _, layer := range manifest.Layers {
		r, err := gzip.NewReader(bytes.NewReader(blob(t, blobs, layer)))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		for name, file := range unpack(t, text) {
			files[name] = file
		}
	}
	if trusted := x509.NewCertPool(); !trusted.AppendCertsFromPEM(files["etc/ssl/certs/ca-certificates.crt"]) {
		t.Error("the image has no certificate authorities")
	}
	program := filepath.Join(dir, "cardea")
	if err := os.WriteFile(program, files["cardea"], 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "cardea "+testVersion+" (") {
		t.Errorf("the image's program says %q (%v)", out, err)
	}
}

// buildProgram builds Cardea as other tests do, so that what they compiled is compiled once.
func buildProgram(t *testing.T, out string) {
	t.Helper()
	build := exec.Command("go", "build", "-ldflags", "-X cardea.dev/cardea/internal/ops/cli.stamp="+testVersion, "-o", out,
		"cardea.dev/cardea/cmd/cardea")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

func buildImage(t *testing.T, program, out string) []byte {
	t.Helper()
	build := exec.Command("../hack/image.sh", testVersion, out, "linux/"+runtime.GOARCH+"="+program)
	build.Env = append(os.Environ(), "IMAGE=registry.example/team/cardea")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	archive, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

type index struct{ Manifests []descriptor }

type descriptor struct {
	Digest, ArtifactType string
	Size                 int
	Annotations          map[string]string
	Platform             struct{ OS, Architecture string }
}

// blob finds what a descriptor names, which must be what it says.
func blob(t *testing.T, blobs map[string][]byte, d descriptor) []byte {
	t.Helper()
	_, sum, _ := strings.Cut(d.Digest, ":")
	text := blobs["blobs/sha256/"+sum]
	if is := sha256.Sum256(text); hex.EncodeToString(is[:]) != sum || len(text) != d.Size {
		t.Fatalf("%s has %d bytes of another digest", d.Digest, len(text))
	}
	return text
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v: %.200s", err, text)
	}
}

// unpack reads an archive, none of whose files may be somebody's or have a time.
func unpack(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	r := tar.NewReader(bytes.NewReader(archive))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.ModTime.Unix() != 0 {
			t.Errorf("%s is of user %d, group %d, %s", h.Name, h.Uid, h.Gid, h.ModTime)
		}
		if h.Typeflag == tar.TypeReg {
			if files[h.Name], err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestImageIsOfTheCommit: an image has the version of what it is built from, unless it is told one.
func TestImageIsOfTheCommit(t *testing.T) {
	described, err := exec.Command("git", "describe", "--tags", "--always", "--dirty").Output()
	if err != nil {
		t.Skipf("this is no clone: %v", err)
	}
	for want, args := range map[string][]string{
		strings.TrimSpace(string(described)): {"-n", "-C", "..", "image"},
		"v1.2.3":                             {"-n", "-C", "..", "image", "VERSION=v1.2.3"},
	} {
		out, err := exec.Command("make", args...).CombinedOutput()
		if err != nil || !strings.Contains(string(out), "hack/image.sh "+want+" bin/image.tar ") {
			t.Errorf("make %v: %v, want version %s:\n%s", args, err, want, out)
		}
	}
}

// TestManifestNamesAVersion: who applies install.yaml gets the same program tomorrow; a release names its own.
func TestManifestNamesAVersion(t *testing.T) {
	text, err := os.ReadFile("install.yaml")
	if err != nil {
		t.Fatal(err)
	}
	images := regexp.MustCompile(`(?m)^\s+image: (.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(images) != 1 || !regexp.MustCompile(`^cardea:v\d+\.\d+\.\d+$`).MatchString(images[0][1]) {
		t.Errorf("install.yaml names %q, want cardea and a version", images)
	}
	released, err := exec.Command("../hack/manifest.sh", "registry.example/cardea:"+testVersion).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.ReplaceAll(string(text), images[0][1], "registry.example/cardea:"+testVersion)
	if strings.Count(string(text), images[0][1]) != 2 {
		t.Errorf("install.yaml has %s once for the controller and once for pickers, want that", images[0][1])
	}
	if string(released) != want {
		t.Error("a release's manifest differs in more than the image")
	}
}
