// Command worker works on albums. It has no code that touches a picture: the step resize is run by
// examples/resize/resize.py, which takes it from the server.
package main

import (
	"os"
	"time"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/remote" // by its URL
)

// picture is what resize takes, and thumb what it makes.
type picture struct {
	File string `json:"file"`
	Most int    `json:"most"` // pixels of the longer side
}

type thumb struct {
	File   string `json:"file"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

var resize = stepwell.DefineRemoteStep[picture, thumb]("resize",
	stepwell.Retry{Attempts: 4, Base: 200 * time.Millisecond}, stepwell.Timeout(time.Minute))

// album makes a small copy of each picture.
var album = stepwell.Define("album", func(ctx stepwell.Context, files []string) ([]thumb, error) {
	return stepwell.Map(ctx, files, 4, func(ctx stepwell.Context, file string) (thumb, error) {
		return resize.Run(ctx, picture{File: file, Most: 64})
	})
})

func main() {
	stepwell.Main(stepwell.Config{Database: os.Getenv("STEPWELL_URL"), Definitions: []stepwell.Definition{album, resize}})
}
