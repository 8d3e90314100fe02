"""What parties say to each other, without sockets or clocks: frames, links, handshakes, agreements, who has left."""
