// Package client calls a Stepwell server over its REST API. A program needs neither the database
// nor the code of the workflows:
//
//	c, err := client.New("https://stepwell.example.com", client.Options{Key: secret})
//	…
//	run, err := c.StartRun(ctx, api.StartRun{Workflow: "onboard-user", Key: "user-42", Input: input})
//	…
//	var user User
//	err = c.Result(ctx, run.ID, &user)
//
// Each operation of package api is a method. Errors are those of package world, as in the server:
// errors.Is(err, world.ErrNotFound). [Error] has the code.
//
// A call is repeated while the server is away, busy or restarting, for [Options].RetryFor. If its
// answer was lost, it is repeated only if that cannot do it twice: the operation changes nothing,
// its repetition has no effect, or the call has a key. A start without a key gets its run ID from
// the client, and so is done once. Otherwise the error is [world.ErrUnknownOutcome].
package client
