package main

func Example() {
	main()
	// Output:
	// No key is set: a script answers in the place of a model.
	// Let me look at your order.
	//   find_order{"order":"7"}
	// I ask for your refund.
	//   refund{"order":"7","cents":4900}
	//   the manager approves
	// It is paid back. Sorry for the trouble!
}
