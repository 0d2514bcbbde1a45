package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/stepwell/stepwell"
)

// This file stands for what the pipeline works with.

// Picture is one of an album.
type Picture struct {
	Tenant string `json:"tenant"`
	Number int    `json:"number"`
	Hint   Hint   `json:"hint"`
}

// Hint says what to do about pictures that could not be read.
type Hint struct {
	Lenient bool `json:"lenient"`
}

// Report is what became of an album.
type Report struct {
	Done   int       `json:"done"`
	Failed []Picture `json:"failed,omitempty"`
}

// List lists the pictures of an album. Its name says here how many there are.
func List(_ context.Context, album string) ([]Picture, error) {
	n, err := strconv.Atoi(album)
	if err != nil {
		return nil, stepwell.Fatal(err)
	}
	pictures := make([]Picture, n)
	for i := range pictures {
		pictures[i] = Picture{Tenant: []string{"acme", "bolt"}[i%2], Number: i}
	}
	return pictures, nil
}

// resize makes a picture smaller. Some are torn, and have to be read leniently; number 9,999 cannot be read at all.
func resize(_ context.Context, p Picture) (string, error) {
	if p.Number%1000 == 7 && !p.Hint.Lenient || p.Number == 9_999 {
		return "", stepwell.Fatal(errors.New("the picture is torn"))
	}
	_, err := fmt.Println("resize", p.Number)
	return fmt.Sprintf("https://pictures.example.com/%d", p.Number), err
}
