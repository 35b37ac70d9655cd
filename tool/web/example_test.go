package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/troupe-dev/troupe"
	"github.com/troupe-dev/troupe/egress"
	"github.com/troupe-dev/troupe/tool/web"
)

// web_fetch returns the text of a page as markdown. Its client reaches the public web
// only, and what is granted: here a server on this machine.
func ExampleNewFetch() {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<html><nav>Menu</nav><article><h1>Otters</h1><p>They <b>hold hands</b>.</p></article></html>`)
	}))
	defer site.Close()
	client, err := egress.NewClient(egress.Config{Allow: []string{strings.TrimPrefix(site.URL, "http://")}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.CloseIdleConnections()
	arguments, err := json.Marshal(map[string]string{"url": site.URL})
	if err != nil {
		log.Fatal(err)
	}
	result, err := web.NewFetch(client).Call(context.Background(), &troupe.Invocation{Arguments: arguments})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Contains(result.Content, "They **hold hands**."), strings.Contains(result.Content, "Menu"))

	_, err = web.NewFetch(nil).Call(context.Background(), &troupe.Invocation{Arguments: arguments})
	fmt.Println("without the grant:", err != nil)
	// Output:
	// true false
	// without the grant: true
}
