"""The first lines of the README: a message that three brokers store before it counts as sent.

causeway up --brokers 5 --detach
python examples/hello.py
"""

from causeway.sync import connect

with connect("causeway://127.0.0.1:7400", name="signals") as bus:
    bus.send("control", "signal 12 is red", service="transactional")  # returns when three brokers have it on disk
    for message in bus.receive("control"):  # an exception in the loop gives the message back
        print(f"{message.source}: {message.text}")
        with bus.transaction() as tx:  # both happen, or neither
            tx.send("log", message.body)
            tx.ack(message)
        break
