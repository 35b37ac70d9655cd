// Command modellist makes the file that model/catalog has built in, from two npm
// packages that collect facts about models. Fetch their tarballs first:
//
//	npm pack @earendil-works/pi-ai @pydantic/genai-prices
//
// and run it with -from and the directory that they are in. No code of theirs is
// run. It prints what has changed, and refuses a result that is much smaller than
// what there was.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/troupe-dev/troupe/model/catalog"
)

func main() {
	from := flag.String("from", os.Getenv("TROUPE_MODEL_PACKAGES"), "the directory that holds the tarballs; TROUPE_MODEL_PACKAGES says it too")
	out := flag.String("out", "models.json.gz", "the file to write")
	fresh := flag.Bool("fresh", false, "only check that the list which is built in is not older than 90 days")
	flag.Parse()
	if *fresh {
		if err := checkAge(catalog.Builtin().Date(), time.Now()); err != nil {
			fmt.Fprintln(os.Stderr, "modellist:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*from, *out, time.Now(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "modellist:", err)
		os.Exit(1)
	}
}

// checkAge fails if facts of this date are too old to be released.
func checkAge(date string, now time.Time) error {
	const oldest = 90 * 24 * time.Hour
	collected, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return err
	}
	if age := now.Sub(collected); age > oldest {
		return fmt.Errorf("the list of models is of %s: prices and windows have changed since; run go generate ./model/catalog", date)
	}
	return nil
}

func run(from, out string, now time.Time, report io.Writer) error {
	if from == "" {
		// go generate ./... is run to see that nothing else has changed.
		fmt.Fprintln(report, "modellist: the list stays as it is. To refresh it, npm pack @earendil-works/pi-ai @pydantic/genai-prices and say with TROUPE_MODEL_PACKAGES where they are.")
		return nil
	}
	offered, err := tarball(from, "earendil-works-pi-ai-*.tgz", "dist/providers/data/*.json")
	if err != nil {
		return err
	}
	prices, err := tarball(from, "pydantic-genai-prices-*.tgz", "dist/index.js")
	if err != nil {
		return err
	}
	list := models{}
	if err := list.addOffered(offered); err != nil {
		return err
	}
	if err := list.addPrices(prices["dist/index.js"], now); err != nil {
		return err
	}
	data := list.encode(now.UTC().Format(time.DateOnly))
	made, err := catalog.Parse(data)
	if err != nil {
		return err
	}
	if err := compare(report, catalog.Builtin(), made); err != nil {
		return err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(out, packed.Bytes(), 0o644)
}

// maxFile bounds a file of a tarball, in bytes.
const maxFile = 32 << 20

// tarball returns the files of the newest tarball in dir whose names match.
func tarball(dir, name, files string) (map[string][]byte, error) {
	found, err := filepath.Glob(filepath.Join(dir, name))
	if err != nil || len(found) == 0 {
		return nil, fmt.Errorf("there is no %s in %s", name, dir)
	}
	slices.Sort(found)
	f, err := os.Open(found[len(found)-1])
	if err != nil {
		return nil, err
	}
	defer f.Close()
	plain, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	contents := map[string][]byte{}
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		inner := strings.TrimPrefix(header.Name, "package/")
		if ok, _ := path.Match(files, inner); !ok {
			continue
		}
		data, err := io.ReadAll(io.LimitReader(archive, maxFile+1))
		if err != nil || len(data) > maxFile {
			return nil, fmt.Errorf("%s: %s is larger than %d bytes, or cannot be read: %v", f.Name(), inner, maxFile, err)
		}
		contents[inner] = data
	}
	if len(contents) == 0 {
		return nil, fmt.Errorf("%s holds no %s: its layout has changed", f.Name(), files)
	}
	return contents, nil
}

// models are entries by provider and name.
type models map[string]map[string]*entry

// An entry is a model in the form of the catalogue: see model/catalog.
type entry struct {
	Also           []string    `json:"also,omitempty"`
	Context        int         `json:"context,omitempty"`
	Output         int         `json:"output,omitempty"`
	Price          []float64   `json:"price,omitempty"`
	Above          [][]float64 `json:"above,omitempty"`
	PerThousand    float64     `json:"per_1000_requests,omitempty"`
	Reasoning      any         `json:"reasoning,omitempty"`
	Images         bool        `json:"images,omitempty"`
	Strict         bool        `json:"strict,omitempty"`
	Temperature    *bool       `json:"temperature,omitempty"`
	MaxTokensField string      `json:"max_tokens_field,omitempty"`
	ReasoningBack  bool        `json:"reasoning_back,omitempty"`
	API            string      `json:"api,omitempty"`
	Retired        bool        `json:"retired,omitempty"`
}

func (m models) add(provider, name string, e *entry) {
	if m[provider] == nil {
		m[provider] = map[string]*entry{}
	}
	m[provider][name] = e
}

// encode writes one model on a line, so that changes can be read.
func (m models) encode(date string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"version":1,"date":%q,"price":"US dollars per million tokens: input, output, cached input, written to cache; missing means unknown or 0","providers":{`, date)
	comma := ""
	for _, provider := range providers {
		list := m[provider.name]
		if len(list) == 0 {
			continue
		}
		fmt.Fprintf(&b, "%s\n%q:{", comma, provider.name)
		inner := ""
		for _, name := range slices.Sorted(maps.Keys(list)) {
			line, _ := json.Marshal(list[name]) // numbers and strings: it cannot fail
			fmt.Fprintf(&b, "%s\n%q:%s", inner, name, line)
			inner = ","
		}
		b.WriteString("}")
		comma = ","
	}
	b.WriteString("}}\n")
	return b.Bytes()
}

// compare prints what is new, gone or priced otherwise, and fails if much is gone.
func compare(report io.Writer, before, after *catalog.Catalog) error {
	gone, total := 0, 0
	for _, provider := range before.Providers() {
		for _, old := range before.Models(provider) {
			total++
			now, ok := after.Find(provider, old.Name)
			switch {
			case !ok:
				gone++
				fmt.Fprintf(report, "- %s/%s\n", provider, old.Name)
			case fmt.Sprint(now.Price) != fmt.Sprint(old.Price) || now.Context != old.Context:
				fmt.Fprintf(report, "  %s/%s: %v %d, was %v %d\n", provider, old.Name, now.Price, now.Context, old.Price, old.Context)
			}
		}
	}
	count := 0
	for _, provider := range after.Providers() {
		for _, model := range after.Models(provider) {
			count++
			if _, ok := before.Find(provider, model.Name); !ok {
				fmt.Fprintf(report, "+ %s/%s\n", provider, model.Name)
			}
		}
	}
	fmt.Fprintf(report, "%d models, %d before, %d of those are gone\n", count, total, gone)
	if gone*4 > total {
		return errors.New("more than a quarter of the models is gone: the packages have changed their form")
	}
	return nil
}
