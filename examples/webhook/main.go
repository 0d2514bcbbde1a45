// Webhook waits for a payment: the shop hands a URL to the payment provider, which sends a signed request there, and gets an answer. Whoever has no
// secret is turned away, a payment that is too small is refused by the workflow, and a request that is sent twice is received once.
//
//	go run ./examples/webhook
package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/webhook"
	_ "github.com/stepwell/stepwell/world/memory"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Order is what is to be paid.
type Order struct {
	ID    string `json:"id"`
	Cents int    `json:"cents"`
}

// Payment is what the provider sends.
type Payment struct {
	Cents int    `json:"cents"`
	By    string `json:"by"`
}

// Sell is the workflow.
var Sell = stepwell.Define("sell", func(ctx stepwell.Context, o Order) (string, error) {
	hook, err := webhook.New(ctx,
		webhook.Signed(webhook.Standard, "provider"), // the name of the secret: the server has it
		webhook.RespondManually(10*time.Second))
	if err != nil {
		return "", err
	}
	if err := stepwell.Do(ctx, "checkout", func(context.Context) error { return checkout(hook.URL()) }); err != nil {
		return "", err
	}
	for req, err := range hook.All(ctx) {
		if err != nil {
			return "", err
		}
		var paid Payment
		answer := webhook.Response{Body: []byte("thank you")}
		switch err := req.Decode(&paid); {
		case err != nil:
			answer = webhook.Response{Status: 400, Body: []byte("what is this?")}
		case paid.Cents < o.Cents:
			answer = webhook.Response{Status: 422, Body: fmt.Appendf(nil, "%d cents are missing", o.Cents-paid.Cents)}
		}
		if err := req.Respond(ctx, answer); err != nil {
			return "", err
		}
		if answer.Status == 0 {
			return "order " + o.ID + " is paid by " + paid.By, hook.Dispose(ctx)
		}
	}
	return "", nil
})

// checkout hands the URL to the provider.
func checkout(url string) error {
	urls <- url
	return nil
}

// urls is the provider's mail.
var urls = make(chan string, 10)

// secret is what shop and provider have agreed upon.
const secret = "whsec_c2hvcCBhbmQgcHJvdmlkZXIga25vdyBpdA=="

var db = flag.String("db", "memory:", "where runs are kept: memory:, sqlite:PATH or postgres://...")

func main() {
	flag.Parse()
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	w, err := stepwell.Open(ctx, *db)
	check(err)
	defer w.Close()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	check(err)
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{Sell}, PublicURL: "http://" + l.Addr().String()})
	check(err)
	secrets, err := server.ParseWebhookSecrets("provider=" + secret)
	check(err)
	api, err := server.New(app, server.Options{WebhookSecrets: secrets})
	check(err)
	var running sync.WaitGroup
	running.Go(func() { check(app.Run(ctx)) })
	running.Go(func() { check(api.Serve(ctx, l, server.Serving{})) })

	run, err := Sell.Start(ctx, app, Order{ID: "7", Cents: 4200})
	check(err)
	url := <-urls
	fmt.Println("forger:  ", send(ctx, url, "evt_0", `{"cents": 4200, "by": "nobody"}`, "whsec_Z3Vlc3NlZA=="))
	fmt.Println("provider:", send(ctx, url, "evt_1", `{"cents": 4000, "by": "Ada"}`, secret))
	fmt.Println("provider:", send(ctx, url, "evt_1", `{"cents": 4000, "by": "Ada"}`, secret), "(again)")
	fmt.Println("provider:", send(ctx, url, "evt_2", `{"cents": 4200, "by": "Ada"}`, secret))
	fmt.Println(run.Result(ctx))

	http.DefaultClient.CloseIdleConnections()
	stop()
	running.Wait()
}

// send is what the provider does: it signs, as Standard Webhooks has it, and sends.
func send(ctx context.Context, url, id, body, secret string) string {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	check(err)
	at := strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	check(err)
	req.Header.Set("Webhook-Id", id)
	req.Header.Set("Webhook-Timestamp", at)
	req.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	res, err := http.DefaultClient.Do(req)
	check(err)
	defer res.Body.Close()
	if res.Header.Get("Content-Type") == "application/problem+json" {
		return res.Status
	}
	said, err := io.ReadAll(res.Body)
	check(err)
	return res.Status + ": " + string(said)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
