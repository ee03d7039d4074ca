"""The port of a command's own server."""

from types import SimpleNamespace

from local_servers import free_port

from tasks.runtime.embedded_server import hold_port


def test_two_commands_that_begin_at_once_never_choose_the_same_port():
    """Names are the machine's: that both choices are of this process changes nothing."""
    ports = [free_port(), free_port()]
    server = SimpleNamespace(_port_range=ports, is_port_available=lambda port: True)
    assert {hold_port(server), hold_port(server)} == set(ports)
