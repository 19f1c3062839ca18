package io.paimonwriter.coordinator.cluster;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * An address of the loopback device under which processes reach others; it passes everything on to
 * the same port of 127.0.0.1. While it is cut, nothing gets through in either direction and nobody
 * is told so, not even of the end of a connection. What was on its way arrives afterwards, as on a
 * network that sends packets again.
 */
final class Link implements AutoCloseable {

    private final InetAddress address;
    private final Set<Closeable> sockets = ConcurrentHashMap.newKeySet();
    private final Set<Integer> ports = new HashSet<>();
    private boolean cut;
    private boolean closed;

    Link(String address) throws IOException {
        this.address = InetAddress.getByName(address);
    }

    String address() {
        return address.getHostAddress();
    }

    /** From now on connections to this port of the address lead somewhere. */
    synchronized void forward(int port) throws IOException {
        // A new process may be given the port of one that is gone.
        if (!ports.add(port)) {
            return;
        }
        ServerSocket server = new ServerSocket();
        server.setReuseAddress(true);
        server.bind(new InetSocketAddress(address, port));
        sockets.add(server);
        inBackground(() -> accept(server));
    }

    synchronized void cut() {
        cut = true;
    }

    synchronized void heal() {
        cut = false;
        notifyAll();
    }

    private void accept(ServerSocket server) throws IOException {
        while (true) {
            Socket client = server.accept();
            sockets.add(client);
            inBackground(() -> connect(client, server.getLocalPort()));
        }
    }

    private void connect(Socket client, int port) throws IOException {
        try {
            awaitHealed();
            Socket target = new Socket(InetAddress.getLoopbackAddress(), port);
            sockets.add(target);
            inBackground(() -> pass(client, target));
            inBackground(() -> pass(target, client));
        } catch (IOException e) {
            // Nobody listens there.
            close(client);
        }
    }

    private void pass(Socket from, Socket to) throws IOException {
        try {
            from.setTcpNoDelay(true);
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            byte[] buffer = new byte[1 << 16];
            for (int length = in.read(buffer); length >= 0; length = in.read(buffer)) {
                awaitHealed();
                out.write(buffer, 0, length);
            }
        } catch (IOException e) {
            // The same as an end: one of the two processes has closed or is gone.
        } finally {
            awaitHealed();
            close(from);
            close(to);
        }
    }

    private synchronized void awaitHealed() throws IOException {
        while (cut && !closed) {
            try {
                wait();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
        }
    }

    private void close(Closeable socket) throws IOException {
        sockets.remove(socket);
        socket.close();
    }

    @Override
    public void close() throws IOException {
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        for (Closeable socket : sockets) {
            close(socket);
        }
    }

    private interface Work {
        void run() throws IOException;
    }

    private void inBackground(Work work) {
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                work.run();
                            } catch (IOException e) {
                                // A socket was closed, which is how all of this ends.
                            }
                        },
                        "link " + address());
        thread.setDaemon(true);
        thread.start();
    }
}
