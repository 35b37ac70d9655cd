package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/troupe-dev/troupe/internal/corpus"
)

// proxiedHost is the name of the server in docs/operate.md.
const proxiedHost = "troupe.example.org"

// A proxy is a program that people put before the server, with what docs/operate.md says
// of its configuration.
type proxy struct {
	program string
	// config makes the documented block work here: on a port, with a certificate in dir,
	// before a server at an address, below a prefix.
	config func(block, dir, port, server, prefix string) string
	args   func(dir string) []string
}

var proxies = map[string]proxy{
	"nginx": {
		config: func(block, dir, port, server, prefix string) string {
			if prefix != "" {
				block = strings.NewReplacer("location / {", "location "+prefix+"/ {", "127.0.0.1:7717;", "127.0.0.1:7717/;").Replace(block)
			}
			block = strings.NewReplacer("listen 443", "listen 127.0.0.1:"+port, "/etc/ssl/troupe", filepath.Join(dir, "troupe"), "127.0.0.1:7717", server).Replace(block)
			return "daemon off;\npid nginx.pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\nclient_body_temp_path body;\nproxy_temp_path proxied;\n" +
				"fastcgi_temp_path fastcgi;\nuwsgi_temp_path uwsgi;\nscgi_temp_path scgi;\n" + block + "}\n"
		},
		args: func(dir string) []string { return []string{"-p", dir, "-c", filepath.Join(dir, "config")} },
	},
	"caddy": {
		config: func(block, dir, port, server, prefix string) string {
			site := "https://" + proxiedHost + ":" + port + " {\n  bind 127.0.0.1\n  tls " + dir + "/troupe.pem " + dir + "/troupe.key"
			block = strings.NewReplacer(proxiedHost+" {", site, "127.0.0.1:7717", server).Replace(block)
			if prefix != "" {
				block = strings.Replace(block, "  reverse_proxy", "  handle_path "+prefix+"/* {\n  reverse_proxy", 1) + "}\n"
			}
			return "{\n  admin off\n  auto_https off\n}\n" + block
		},
		args: func(dir string) []string {
			return []string{"run", "--adapter", "caddyfile", "--config", filepath.Join(dir, "config")}
		},
	},
}

// The proxies of docs/operate.md, configured as it says, pass on what streams while it
// does, with TLS, and below a path.
func TestProxiesPassOnWhatStreams(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(corpus.ModuleRoot(t), "docs", "operate.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile("(?s)```nginx\n(.*?)```\n\n```\n(.*?)```").FindStringSubmatch(string(text))
	if found == nil {
		t.Fatal("docs/operate.md has no configuration of nginx and Caddy")
	}
	for name, block := range map[string]string{"nginx": found[1], "caddy": found[2]} {
		for _, prefix := range []string{"", "/troupe"} {
			t.Run(name+prefix, func(t *testing.T) {
				program, err := exec.LookPath(name)
				if err != nil {
					t.Skipf("%s is not installed: run make setup", name)
				}
				p := proxies[name]
				p.program = program
				behindProxy(t, p, block, prefix)
			})
		}
	}
}

func behindProxy(t *testing.T, p proxy, block, prefix string) {
	models := newHeldModel(t)
	dir := clerkAt(t, models.URL)
	appendTo(t, dir, "server: {hosts: ["+proxiedHost+"], users: {ann: ANN_TOKEN}, operators: [ann]}\n")
	token := strings.Repeat("0123456789", 4)
	base, _, stop := serveIn(t, dir, "CANARY=k", "ANN_TOKEN="+token)
	client := p.start(t, block, strings.TrimPrefix(base, "http://"), prefix)
	outside := "https://" + proxiedHost + prefix
	answer := streamed(t, client, outside, token) // which waits for the first half
	<-models.asked
	models.let <- struct{}{}
	readUntil(t, answer, "second half.")
	task := taskStreamed(t, client, outside, token)
	<-models.asked
	readUntil(t, task, "clerk has the message")
	models.let <- struct{}{}
	readUntil(t, task, "second half.")
	for path, want := range map[string]string{"/": "<!doctype html>", "/healthz": "ok"} {
		response, err := client.Get(outside + path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != 200 || !strings.Contains(strings.ToLower(string(body)), want) {
			t.Errorf("%s: %d, %v: %.200s", path, response.StatusCode, err, body)
		}
	}
	if prefix == "" {
		if status, card := answerTo(t, client, outside, "/a2a/clerk/.well-known/agent-card.json", []string{"Authorization: Bearer " + token}); status != 200 || !strings.Contains(card, outside+"/a2a/clerk") {
			t.Errorf("the card names another address: %d %s", status, card)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// taskStreamed gives the clerk a task by the Agent2Agent protocol, and returns a reader of
// what is told of it.
func taskStreamed(t *testing.T, client *http.Client, base, token string) *bufio.Scanner {
	t.Helper()
	message := `{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{"message":{"kind":"message","messageId":"1","role":"user","parts":[{"kind":"text","text":"Well?"}]}}}`
	req, err := http.NewRequestWithContext(t.Context(), "POST", base+"/a2a/clerk", strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	response, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	return bufio.NewScanner(response.Body)
}

// start runs the proxy until the test is over, and returns a client that reaches nothing
// but it.
func (p proxy) start(t *testing.T, block, server, prefix string) *http.Client {
	t.Helper()
	dir := t.TempDir()
	authority := certificateIn(t, dir)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	_, port, _ := net.SplitHostPort(address)
	if err := os.WriteFile(filepath.Join(dir, "config"), []byte(p.config(block, dir, port, server, prefix)), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	var said bytes.Buffer
	process := exec.CommandContext(ctx, p.program, p.args(dir)...)
	process.Dir, process.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	process.Cancel = func() error { return process.Process.Signal(os.Interrupt) }
	process.WaitDelay = time.Minute
	process.Stdout, process.Stderr = &said, &said
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = process.Wait(); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	dialer := &net.Dialer{}
	for {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			conn.Close()
			break
		}
		select {
		case <-ended:
			t.Fatalf("it has ended: %s", said.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: authority},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", address)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// certificateIn writes a certificate and its key, and returns what trusts it.
func certificateIn(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{proxiedHost}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, block := range map[string]*pem.Block{"troupe.pem": {Type: "CERTIFICATE", Bytes: certificate}, "troupe.key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pool := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(certificate)
	if err != nil {
		t.Fatal(err)
	}
	pool.AddCert(parsed)
	return pool
}
