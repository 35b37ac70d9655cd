package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// limitFiles bounds the size of the files that a process writes, as a quota does.
func limitFiles(t *testing.T, process *os.Process, limit string) {
	t.Helper()
	if out, err := exec.Command("prlimit", "--fsize="+limit, "--pid", fmt.Sprint(process.Pid)).CombinedOutput(); err != nil {
		t.Skipf("prlimit cannot be used: %v %s", err, out)
	}
}

// asked is what a server answers to a GET.
func asked(t *testing.T, url, token string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(data)
}

// A server whose disk takes nothing more says so to people, to load balancers and to
// Prometheus, and goes on by itself when there is room again.
func TestAServerGoesOnWhenThereIsRoomAgain(t *testing.T) {
	models := httptest.NewServer(http.HandlerFunc(everyProtocol))
	defer models.Close()
	dir := clerkAt(t, models.URL)
	var told bytes.Buffer
	base, token, server := serveProcess(t, dir, &told, "CANARY=k")
	say := func() (int, string) {
		var answer struct {
			Error struct{ Message string }
		}
		code := request(t, "POST", base+"/v1/chat/completions", token, `{"model":"clerk","messages":[{"role":"user","content":"Well?"}]}`, &answer)
		return code, answer.Error.Message
	}
	if code, text := say(); code != http.StatusOK {
		t.Fatal(code, text)
	}
	log, err := os.Stat(filepath.Join(dir, "data", "troupe.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	limitFiles(t, server.Process, fmt.Sprintf("%d:unlimited", log.Size()))
	for range 2 {
		if code, text := say(); code != http.StatusServiceUnavailable || !strings.Contains(text, "cannot be written") {
			t.Errorf("while nothing can be written: %d %s", code, text)
		}
	}
	if code, body := asked(t, base+"/readyz", ""); code != http.StatusServiceUnavailable || !strings.Contains(body, "the store cannot be written") {
		t.Errorf("readyz: %d %s", code, body)
	}
	if _, body := asked(t, base+"/metrics", token); !strings.Contains(body, "troupe_store_writable 0\n") {
		t.Errorf("metrics: %s", body)
	}
	limitFiles(t, server.Process, "unlimited:unlimited")
	for end := time.Now().Add(time.Minute); ; {
		code, body := asked(t, base+"/readyz", "")
		if code == http.StatusOK {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it does not go on: %d %s", code, body)
		}
	}
	if code, text := say(); code != http.StatusOK {
		t.Errorf("when there is room again: %d %s", code, text)
	}
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Error(err)
	}
	if text := told.String(); !strings.Contains(text, "request not done") || strings.Contains(text, "the server's log says what") {
		t.Errorf("the log says\n%s", text)
	}
}

// A server whose disk failed, so that nobody knows what is on it, ends with an error: whoever
// supervises it starts it again, and all that was acknowledged is there.
func TestAServerWhoseDiskFailedEnds(t *testing.T) {
	models := httptest.NewServer(http.HandlerFunc(everyProtocol))
	defer models.Close()
	dir := clerkAt(t, models.URL)
	var told bytes.Buffer
	base, token, server := serveProcess(t, dir, &told, "CANARY=k")
	const hello = `{"model":"clerk","messages":[{"role":"user","content":"Well?"}]}`
	if code := request(t, "POST", base+"/v1/chat/completions", token, hello, nil); code != http.StatusOK {
		t.Fatal(code)
	}
	failing := exec.Command("strace", "-f", "-o", os.DevNull, "-P", filepath.Join(dir, "data", "troupe.db-wal"), "-e", "inject=fsync,fdatasync:error=EIO", "-p", fmt.Sprint(server.Process.Pid))
	words, err := failing.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := failing.Start(); err != nil {
		t.Skip("it takes strace to make a disk fail: ", err)
	}
	defer failing.Wait() // it ends with the server
	if n, err := words.Read(make([]byte, 1)); n == 0 {
		t.Skip("strace may not be used: ", err)
	}
	go io.Copy(io.Discard, words)
	if code := request(t, "POST", base+"/v1/chat/completions", token, hello, nil); code != http.StatusServiceUnavailable {
		t.Errorf("what may not be on disk is acknowledged: %d", code)
	}
	if err := server.Wait(); err == nil || server.ProcessState.ExitCode() != exitFailed {
		t.Errorf("it ends with %v", err)
	}
	if !strings.Contains(told.String(), "The disk failed, so nothing more is written.") || !strings.Contains(told.String(), "the server ends, so that it is started again") {
		t.Errorf("it says\n%s", &told)
	}
	base, token, server = serveProcess(t, dir, nil, "CANARY=k")
	var sessions []struct{ Status string }
	request(t, "GET", base+"/api/sessions", token, "", &sessions)
	if len(sessions) == 0 || sessions[len(sessions)-1].Status != "completed" {
		t.Errorf("afterwards there are %v", sessions)
	}
	if code := request(t, "POST", base+"/v1/chat/completions", token, hello, nil); code != http.StatusOK {
		t.Errorf("started again: %d", code)
	}
	server.Process.Signal(os.Interrupt)
	server.Wait()
}
