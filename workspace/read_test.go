package workspace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

func readText(t *testing.T, ws *Workspace, name string, offset, limit int64) Text {
	t.Helper()
	loc, err := ws.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := ws.ReadText(loc, offset, limit)
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.ValidString(text.Content) {
		t.Errorf("%s: not UTF-8: %q", name, text.Content)
	}
	return text
}

func TestATextIsReadInPartsOfWholeCharacters(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	whole := strings.Repeat("aé€😀", 100)
	put(t, w.bundle, "mixed.txt", whole)
	for limit := int64(1); limit < 20; limit++ {
		var all strings.Builder
		for next := int64(0); ; {
			part := readText(t, ws, "{bundle-root}/mixed.txt", next, limit)
			if part.Offset != next || part.Repaired || part.Size != int64(len(whole)) || int64(len(part.Content)) > max(limit, 4) {
				t.Fatalf("limit %d: %+v", limit, part)
			}
			all.WriteString(part.Content)
			if next = part.Next; !part.Truncated() {
				break
			}
		}
		if all.String() != whole {
			t.Errorf("limit %d: the parts are not the whole", limit)
		}
	}
	if inside := readText(t, ws, "{bundle-root}/mixed.txt", 8, 4); inside.Offset != 6 || inside.Content != "😀" {
		t.Errorf("from inside a character: %+v", inside)
	}
	if past := readText(t, ws, "{bundle-root}/mixed.txt", 1<<40, 0); past.Content != "" || past.Truncated() {
		t.Errorf("past the end: %+v", past)
	}
	loc, _ := ws.Resolve("{bundle-root}/mixed.txt")
	for _, bad := range [][2]int64{{-1, 0}, {0, -1}} {
		if _, err := ws.ReadText(loc, bad[0], bad[1]); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("offset %d, limit %d: %v", bad[0], bad[1], err)
		}
	}
}

func TestALongTextIsCutAndSaysSo(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	put(t, w.bundle, "long.txt", strings.Repeat("é", 1<<20))
	text := readText(t, ws, "{bundle-root}/long.txt", 1<<20|1, 1<<30)
	if len(text.Content) != 1<<20 || text.Offset != 1<<20 || text.Size != 2<<20 || text.Truncated() {
		t.Errorf("%d bytes from %d, of %d", len(text.Content), text.Offset, text.Size)
	}
	put(t, w.bundle, "broken.txt", strings.Repeat("ab\xffcdefghij", 1<<18))
	text = readText(t, ws, "{bundle-root}/broken.txt", 0, 0)
	if !text.Repaired || !text.Truncated() || len(text.Content) > 1<<20 || len(text.Content) < 1<<20-3 {
		t.Errorf("%d bytes, %+v", len(text.Content), text.Repaired)
	}
}

func TestWhatIsNotTextIsRepairedOrSummarised(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	for content, want := range map[string]Text{
		"":                        {},
		"plain":                   {Content: "plain", Size: 5, Next: 5},
		"caf\xe9":                 {Content: "caf\ufffd", Size: 4, Next: 4, Repaired: true},
		"already \ufffd":          {Content: "already \ufffd", Size: 11, Next: 11},
		"\x89PNG\r\n\x00\x01":     {Content: "[binary file of 8 bytes, not shown]", Size: 8, Binary: true},
		strings.Repeat("\xfe", 9): {Content: "[binary file of 9 bytes, not shown]", Size: 9, Binary: true},
	} {
		put(t, w.bundle, "odd", content)
		got := readText(t, ws, "{bundle-root}/odd", 0, 0)
		want.Location = got.Location
		if got != want || got.Truncated() {
			t.Errorf("%q gives %+v", content, got)
		}
		if exact, err := read(ws, "{bundle-root}/odd"); exact != content || err != nil {
			t.Errorf("ReadFile gives %q, %v", exact, err)
		}
	}
}

func TestOddNamesAreReadByTheirExactBytes(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	for _, name := range []string{"CON", "a:b", "trailing.", "e\u0301", "\u00e9", "bad\xff", "a\\b", "%2e%2e", "line\nbreak", "{\"x\"}"} {
		put(t, w.bundle, name, "content of "+name)
		wantRead(t, ws, "{bundle-root}/"+name, "content of "+name)
	}
}

func TestAFileBeyondTheLimitIsRefused(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	f, err := os.Create(filepath.Join(w.bundle, "sparse"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int64{10 << 20, 10<<20 + 1, 1 << 40} {
		if err := f.Truncate(size); err != nil {
			t.Fatal(err)
		}
		_, err := read(ws, "{bundle-root}/sparse")
		if refused := errors.Is(err, ErrTooLarge); refused != (size > 10<<20) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	loc, _ := ws.Resolve("{bundle-root}/sparse")
	if entry, err := ws.Stat(loc); err != nil || entry.Size != 1<<40 {
		t.Errorf("Stat gives %+v, %v", entry, err)
	}
}

func TestAFileThatGrowsOrShrinksWhileItIsReadIsSafe(t *testing.T) {
	w := newWorld(t)
	ws := openWith(t, Config{Roots: []Root{{Name: BundleRoot, Dir: w.bundle, Access: ReadOnly}}, Limits: Limits{FileBytes: 1 << 20}})
	f, err := os.Create(filepath.Join(w.bundle, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		line := []byte(strings.Repeat("line ", 1000))
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if i%300 == 299 {
				f.Truncate(0)
				f.Seek(0, io.SeekStart)
			}
			f.Write(line)
		}
	})
	for range 300 {
		content, err := read(ws, "{bundle-root}/log")
		if err != nil && !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
		if len(content) > 1<<20 {
			t.Errorf("read %d bytes", len(content))
		}
	}
	close(stop)
	wg.Wait()
}

func TestTheCacheSavesReadingAndSeesEveryChange(t *testing.T) {
	w := newWorld(t)
	cache := NewCache(1 << 20)
	later := 0 * time.Second
	cache.now = func() time.Time { return time.Now().Add(later) }
	ws := openWith(t, Config{Roots: []Root{{Name: BundleRoot, Dir: w.bundle, Access: ReadOnly}}, Cache: cache})
	file := put(t, w.bundle, "cached.txt", "one")

	wantRead(t, ws, "{bundle-root}/cached.txt", "one")
	if len(cache.entries) != 0 {
		t.Error("a file that has just changed was kept: its next change may have the same time")
	}
	later = time.Hour
	wantRead(t, ws, "{bundle-root}/cached.txt", "one")
	if len(cache.entries) == 0 {
		t.Skip("files have no identity on this system")
	}
	for _, e := range cache.entries { // what is read now can only come from here
		e.Value.(*cached).content = "kept"
	}
	wantRead(t, ws, "{bundle-root}/cached.txt", "kept")

	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	put(t, w.bundle, "cached.txt", "two")
	if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	wantRead(t, ws, "{bundle-root}/cached.txt", "two")
	put(t, w.bundle, "new.txt", "six")
	if err := os.Rename(filepath.Join(w.bundle, "new.txt"), file); err != nil {
		t.Fatal(err)
	}
	wantRead(t, ws, "{bundle-root}/cached.txt", "six")
}

func TestAFileThatChangesWhileItIsReadIsNotKept(t *testing.T) {
	w := newWorld(t)
	ws := w.open(t)
	ws.cache.now = func() time.Time { return time.Now().Add(time.Hour) }
	loc, err := ws.Resolve("{bundle-root}/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	f, info, err := ws.open(loc)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	put(t, w.bundle, "config.yaml", "user_name: Eve\n")
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(filepath.Join(w.bundle, "config.yaml"), later, later); err != nil {
		t.Fatal(err)
	}
	if got, err := ws.readOpen(f, info); got != "user_name: Eve\n" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
	if len(ws.cache.entries) != 0 {
		t.Error("the new content was kept for the old state")
	}
}

func TestAFileLargerThanItSaysIsRefused(t *testing.T) {
	content, err := os.ReadFile("/proc/cpuinfo")
	if err != nil || len(content) < 100 {
		t.Skip("no file here has more bytes than its size:", err)
	}
	ws := openWith(t, Config{Roots: []Root{{Name: "proc", Dir: "/proc", Access: ReadOnly, Trusted: true}}, Limits: Limits{FileBytes: 99}})
	if _, err := read(ws, "{proc}/cpuinfo"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%d bytes: %v", len(content), err)
	}
}

func TestTheCacheStaysWithinItsSize(t *testing.T) {
	c := NewCache(100)
	for i := range 50 {
		id := identity{inode: uint64(i), size: 10}
		c.put(id, "0123456789")
		c.put(id, "0123456789")
		if first, ok := c.get(identity{inode: 0, size: 10}); !ok || first != "0123456789" {
			t.Fatalf("what is used all the time was dropped after %d", i)
		}
	}
	c.put(identity{inode: 99, size: 26}, strings.Repeat("x", 26))
	c.put(identity{inode: 98, size: 11}, "0123456789")
	if c.size != 100 || len(c.entries) != 10 || c.order.Len() != 10 {
		t.Errorf("%d bytes in %d entries", c.size, len(c.entries))
	}
}

func TestACacheGrantsNothing(t *testing.T) {
	w := newWorld(t)
	cache := NewCache(1 << 20)
	cache.now = func() time.Time { return time.Now().Add(time.Hour) }
	may := openWith(t, Config{Cache: cache, Roots: []Root{{Name: "all", Dir: w.outside, Access: ReadOnly}}})
	wantRead(t, may, "{all}/canary.txt", canary)
	link(t, "../../../../../outside/canary.txt", w.bundle, "out")
	mayNot := openWith(t, Config{Cache: cache, Roots: []Root{{Name: BundleRoot, Dir: w.bundle, Access: ReadOnly}}})
	_, err := read(mayNot, "{bundle-root}/out")
	wantRefusal(t, err, ErrDenied, w.dir)
}
