package wire

import (
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// frame makes a frame of Amazon's event streams.
func frame(payload string, headers ...string) string {
	var h []byte
	for i := 0; i < len(headers); i += 2 {
		h = append(append(h, byte(len(headers[i]))), headers[i]...)
		h = append(h, 7, 0, byte(len(headers[i+1])))
		h = append(h, headers[i+1]...)
	}
	f := binary.BigEndian.AppendUint32(nil, uint32(16+len(h)+len(payload)))
	f = binary.BigEndian.AppendUint32(f, uint32(len(h)))
	f = binary.BigEndian.AppendUint32(f, crc32.ChecksumIEEE(f))
	f = append(append(f, h...), payload...)
	return string(binary.BigEndian.AppendUint32(f, crc32.ChecksumIEEE(f)))
}

func readFrames(t *testing.T, body string) (events []string, err error) {
	t.Helper()
	at, _ := url.Parse("http://model.test")
	client, err := New(Config{URL: at, HTTPClient: &http.Client{Transport: slow{
		header: http.Header{"Content-Type": {"application/vnd.amazon.eventstream"}}, pieces: []piece{{text: body}}}}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := client.Send(t.Context(), &Exchange{Parts: [][]byte{{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	reader, ok := a.Events()
	if !ok {
		t.Fatal("no events")
	}
	for {
		e, err := reader.Next()
		if err != nil {
			return events, err
		}
		events = append(events, string(e.Name)+" "+string(e.Data))
	}
}

func TestFrames(t *testing.T) {
	first := frame(`{"bytes":"`+base64.StdEncoding.EncodeToString([]byte(`{"a":1}`))+`","p":"abc"}`, ":event-type", "chunk", ":message-type", "event")
	failure := frame(`{"message":"slow down"}`, ":exception-type", "throttlingException", ":message-type", "exception")
	events, err := readFrames(t, first+failure)
	if err != io.EOF || len(events) != 2 || events[0] != `chunk {"a":1}` || !strings.HasPrefix(events[1], "error ") || !strings.Contains(events[1], "throttlingException") {
		t.Errorf("%q, %v", events, err)
	}
	if events, err = readFrames(t, first+first[:30]); len(events) != 1 || err != io.ErrUnexpectedEOF {
		t.Errorf("cut: %q, %v", events, err)
	}
	broken := []byte(first)
	broken[len(broken)-10] ^= 1
	if events, err = readFrames(t, string(broken)); len(events) != 0 || err != io.ErrUnexpectedEOF {
		t.Errorf("damaged: %q, %v", events, err)
	}
}
