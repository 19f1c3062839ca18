package io.paimonwriter.coordinator.job;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.HashSet;
import java.util.Set;

/** Ports of the loopback interface for processes that must be told theirs. */
public final class FreePort {

    // A port that nobody listens at yet could be found free again.
    private static final Set<Integer> GIVEN = new HashSet<>();

    private FreePort() {}

    /** A port that was free a moment ago, and that was not given before. */
    public static synchronized int next() throws IOException {
        while (true) {
            try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                if (GIVEN.add(socket.getLocalPort())) {
                    return socket.getLocalPort();
                }
            }
        }
    }
}
