// Package shop stands for the shop that the order systems beside it call, as examples/orders/services.go does for that of Stepwell.
package shop

import (
	"context"
	"errors"
	"fmt"
)

// Order is what a customer buys.
type Order struct {
	ID       string `json:"id"`
	Customer string `json:"customer"`
	Cents    int    `json:"cents"`
	To       string `json:"to"`
}

// Decision is an answer to Ask.
type Decision struct {
	OK bool `json:"ok"`
}

// Result is what became of an order.
type Result struct {
	Outcome string `json:"outcome"`
	Receipt string `json:"receipt,omitempty"`
}

// ErrNoCourier is the error of Ship where nobody goes.
var ErrNoCourier = errors.New("no courier goes there")

// Reserve takes the goods from the shelf.
func Reserve(_ context.Context, o Order) error { return say("reserve", o) }

// Release puts them back.
func Release(_ context.Context, o Order) error { return say("release", o) }

// Ask asks people whether the shop takes the order.
func Ask(_ context.Context, o Order) error { return say("ask", o) }

// Remind asks them again.
func Remind(_ context.Context, o Order) error { return say("remind", o) }

// Charge takes the money and returns the receipt.
func Charge(_ context.Context, o Order) (string, error) { return "receipt-" + o.ID, say("charge", o) }

// Refund gives it back.
func Refund(_ context.Context, o Order) error { return say("refund", o) }

// Ship calls a courier.
func Ship(_ context.Context, o Order) error {
	if o.To == "Moon" {
		return ErrNoCourier
	}
	return say("ship", o)
}

func say(what string, o Order) error {
	_, err := fmt.Println(what, o.ID)
	return err
}
