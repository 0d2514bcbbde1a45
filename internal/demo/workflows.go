package demo

// This file holds the two workflows of the demo, as an author would write them, but for the lines that their steps append to a file.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
)

type signup struct {
	Email string `json:"email"`
}

type verified struct {
	UserID string `json:"userId"`
}

type order struct {
	Number string   `json:"number"`
	Items  []string `json:"items"`
}

var verify = stepwell.Event[verified]("verify")

// How long things take in the demo.
const (
	welcomeDelay  = time.Second
	verifyTimeout = 2500 * time.Millisecond
	chargeTime    = 1200 * time.Millisecond
)

// killedStep is the step in whose body the worker is killed.
const killedStep = "charge-card"

// onboard is a sign-up: create the user, say welcome, wait for the e-mail to be verified, and nudge if it is not.
func onboard(b *bodies) *stepwell.Workflow[signup, string] {
	return stepwell.Define("onboard-user", func(ctx stepwell.Context, in signup) (string, error) {
		user, err := stepwell.Step(ctx, "create-user", func(ctx context.Context) (string, error) {
			name, _, _ := strings.Cut(in.Email, "@")
			return "usr_" + name, b.work(ctx, 30*time.Millisecond, nil)
		})
		if err != nil {
			return "", err
		}
		if err := stepwell.Sleep(ctx, "welcome-delay", welcomeDelay); err != nil {
			return "", err
		}
		if err := stepwell.Do(ctx, "send-welcome", func(ctx context.Context) error {
			if stepwell.Info(ctx).Attempt < 3 {
				return b.work(ctx, 20*time.Millisecond, errors.New("mail: connection refused"))
			}
			return b.work(ctx, 60*time.Millisecond, nil)
		}, stepwell.Retry{Attempts: 5, Base: 150 * time.Millisecond}); err != nil {
			return "", err
		}
		_, ok, err := verify.Wait(ctx, stepwell.Match{"userId": user}, stepwell.Timeout(verifyTimeout))
		if err != nil {
			return "", err
		}
		if !ok { // nobody came: a value, not an error
			return "nudged", stepwell.Do(ctx, "nudge", func(ctx context.Context) error { return b.work(ctx, 40*time.Millisecond, nil) })
		}
		return "verified", nil
	})
}

// reserve is a registered step: any worker that has it may run it.
func reserve(b *bodies) *stepwell.RegisteredStep[string, string] {
	return stepwell.DefineStep("reserve", func(ctx context.Context, item string) (string, error) {
		return item + " reserved", b.work(ctx, 80*time.Millisecond, nil)
	})
}

// fulfil is an order: reserve all items side by side, charge the card, then pack and send the receipt side by side.
func fulfil(b *bodies, reserve *stepwell.RegisteredStep[string, string]) *stepwell.Workflow[order, string] {
	return stepwell.Define("order", func(ctx stepwell.Context, in order) (string, error) {
		reserved, err := stepwell.Map(ctx, in.Items, 0, func(ctx stepwell.Context, item string) (string, error) { return reserve.Run(ctx, item) })
		if err != nil {
			return "", err
		}
		if err := stepwell.Do(ctx, killedStep, func(ctx context.Context) error { return b.work(ctx, chargeTime, nil) }); err != nil {
			return "", err
		}
		do := func(name string, d time.Duration) *stepwell.Future[struct{}] {
			return stepwell.Go(ctx, func(ctx stepwell.Context) (struct{}, error) {
				return struct{}{}, stepwell.Do(ctx, name, func(ctx context.Context) error { return b.work(ctx, d, nil) })
			})
		}
		if _, err := stepwell.All(ctx, do("pack", 120*time.Millisecond), do("send-receipt", 60*time.Millisecond)); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s shipped, %d items", in.Number, len(reserved)), nil
	})
}
