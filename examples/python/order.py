"""Starts an order, pays for it, and follows it until it is shipped. See run.sh."""

from stepwell import Stepwell


def main() -> None:
    with Stepwell() as client:
        order = client.start("order", {"customer": "Ada", "cents": 4200}, key="cart-17")
        again = client.start("order", {"customer": "Ada", "cents": 4200}, key="cart-17")
        print("one run:", order.id == again.id)
        for chunk in order.stream("progress"):
            print(chunk.value)
            if chunk.index == 0:
                order.signal("paid", {"cents": 4200}, key="payment-9")
        print(order.result(timeout=60))


if __name__ == "__main__":
    main()
