package bundle

import (
	"archive/zip"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/troupe-dev/troupe/internal/laxyaml"
	"github.com/troupe-dev/troupe/workspace"
)

// What an archive may hold. Bundles are text: the largest that are published have
// a few hundred files and a few megabytes.
const (
	maxArchiveFiles = 2000
	maxArchiveBytes = 64 << 20
	maxArchiveDepth = 32
	// maxRatio is how many times as large as in the archive a file may be, if it is
	// larger than ratioFrom.
	maxRatio  = 100
	ratioFrom = 64 << 10
)

// Unpack unpacks the zip archive of a bundle into a directory of bundles, under the
// name that its bundle.yaml gives it, and returns that name. The bundle.yaml is at
// the top of the archive or of its only directory. All or nothing: an archive that
// is refused leaves nothing behind, and one is refused if it holds anything but
// files and directories, names that lead elsewhere, or more than a bundle may; and
// if there is a bundle of that name.
func Unpack(archive, bundles string) (name string, err error) {
	files, err := openArchive(archive)
	if err != nil {
		return "", fmt.Errorf("unpack %s: %w", filepath.Base(archive), err)
	}
	defer files.Close()
	if err := os.MkdirAll(bundles, 0o755); err != nil {
		return "", fmt.Errorf("unpack: %w", err)
	}
	into, err := os.OpenRoot(bundles)
	if err != nil {
		return "", fmt.Errorf("unpack: %w", err)
	}
	defer into.Close()
	if name, err = files.unpack(into); err != nil {
		return "", fmt.Errorf("unpack %s: %w", filepath.Base(archive), err)
	}
	return name, nil
}

// An archive is a zip file of which all entries were looked at.
type archive struct {
	*zip.ReadCloser
	top string // the directory that holds everything, with a slash, or ""
}

func openArchive(file string) (*archive, error) {
	r, err := zip.OpenReader(file)
	if err != nil {
		return nil, err
	}
	a := &archive{ReadCloser: r}
	// What the finder of a Mac puts beside the files that it packs.
	a.File = slices.DeleteFunc(a.File, func(f *zip.File) bool {
		return strings.HasPrefix(f.Name, "__MACOSX/") || path.Base(f.Name) == ".DS_Store"
	})
	if err := a.check(); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return a, nil
}

// check looks at every entry before any is unpacked.
func (a *archive) check() error {
	if len(a.File) > maxArchiveFiles {
		return fmt.Errorf("it holds %d files; a bundle has at most %d", len(a.File), maxArchiveFiles)
	}
	var total uint64
	seen := map[string]bool{}
	for _, f := range a.File {
		if err := checkEntry(f); err != nil {
			return fmt.Errorf("%.200q: %w", f.Name, err)
		}
		key := strings.ToLower(strings.TrimSuffix(f.Name, "/"))
		if seen[key] {
			return fmt.Errorf("%.200q is there twice", f.Name)
		}
		seen[key] = true
		if total += f.UncompressedSize64; total > maxArchiveBytes {
			return fmt.Errorf("it unpacks to more than %d bytes", maxArchiveBytes)
		}
		if path.Base(f.Name) == manifestFile && strings.Count(f.Name, "/") <= 1 {
			a.top = strings.TrimSuffix(f.Name, manifestFile)
		}
	}
	if !seen[strings.ToLower(a.top+manifestFile)] {
		return fmt.Errorf("it has no %s at its top", manifestFile)
	}
	for _, f := range a.File {
		if !strings.HasPrefix(f.Name, a.top) {
			return fmt.Errorf("%.200q is beside the bundle, not in it", f.Name)
		}
	}
	return a.checkOverlap()
}

func checkEntry(f *zip.File) error {
	name := strings.TrimSuffix(f.Name, "/")
	isDir := name != f.Name
	switch {
	case !fs.ValidPath(name) || !filepath.IsLocal(filepath.FromSlash(name)) || name == ".":
		return errors.New("its name leads elsewhere")
	case strings.Count(name, "/") >= maxArchiveDepth:
		return fmt.Errorf("it lies deeper than %d directories", maxArchiveDepth)
	case f.Mode().IsDir() != isDir || !isDir && !f.Mode().IsRegular():
		return errors.New("it is neither a file nor a directory")
	case f.UncompressedSize64 > ratioFrom && f.UncompressedSize64/max(f.CompressedSize64, 1) > maxRatio:
		return fmt.Errorf("it unpacks to more than %d times its size", maxRatio)
	}
	for element := range strings.SplitSeq(name, "/") {
		if err := workspace.CheckElement(element); err != nil {
			return err
		}
	}
	return nil
}

// checkOverlap refuses entries that share bytes of the archive, as those of bombs do.
func (a *archive) checkOverlap() error {
	type span struct{ from, to int64 }
	var spans []span
	for _, f := range a.File {
		from, err := f.DataOffset()
		if err != nil {
			return fmt.Errorf("%.200q: %w", f.Name, err)
		}
		spans = append(spans, span{from, from + int64(f.CompressedSize64)})
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	for i := 1; i < len(spans); i++ {
		if spans[i].from < spans[i-1].to {
			return errors.New("its files overlap")
		}
	}
	return nil
}

// unpack writes the files beside where they will be, and moves them there when all
// are well.
func (a *archive) unpack(into *os.Root) (name string, err error) {
	const aside = ".unpacking"
	if err := into.Mkdir(aside, 0o755); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("%s is there: another archive is being unpacked, or one was interrupted; remove it", aside)
		}
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, workspace.RemoveAll(into, aside))
		}
	}()
	dir, err := into.OpenRoot(aside)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	for _, f := range a.File {
		if err := a.extract(f, dir); err != nil {
			return "", fmt.Errorf("%.200q: %w", f.Name, err)
		}
	}
	if name, err = nameIn(dir); err != nil {
		return "", err
	}
	if _, err := into.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is a bundle %s already; remove it first", name)
	}
	return name, into.Rename(aside, name)
}

func (a *archive) extract(f *zip.File, dir *os.Root) error {
	name := strings.TrimPrefix(f.Name, a.top)
	if name == "" || strings.HasSuffix(name, "/") {
		if name = strings.TrimSuffix(name, "/"); name == "" {
			return nil
		}
		return dir.MkdirAll(name, 0o755)
	}
	if err := dir.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	// What a header says of a size is not to be trusted.
	n, err := io.Copy(out, io.LimitReader(in, int64(f.UncompressedSize64)+1))
	if err == nil && uint64(n) != f.UncompressedSize64 {
		err = errors.New("it is not of the size that the archive says")
	}
	return errors.Join(err, out.Close())
}

// nameIn reads the name that a bundle gives itself.
func nameIn(dir *os.Root) (string, error) {
	f, err := dir.Open(manifestFile)
	if err != nil {
		return "", err
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, laxyaml.MaxBytes+1))
	if err != nil {
		return "", err
	}
	root, _, err := ParseYAML(manifestFile, 1, src)
	if err != nil {
		return "", err
	}
	name := laxyaml.Scalar(laxyaml.Field(root, "name"))
	if !kebab.MatchString(name) || len(name) > 64 {
		return "", problem(CodeManifest, manifestFile, 1, "the bundle's name %.64q is not of the form my-bundle", name)
	}
	return name, nil
}
