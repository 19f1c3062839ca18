package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Map;
import java.util.stream.Stream;

/** Loading the library from the jar; every test uses class loaders of its own. */
class NativeLibraryTest {

    @TempDir private Path folder;

    @AfterEach
    void clearProperties() {
        System.clearProperty(NativeLibrary.LIBRARY_PROPERTY);
        System.clearProperty(NativeLibrary.TEMP_DIRECTORY_PROPERTY);
    }

    @Test
    void platformsAndTheirResources() {
        assertEquals("linux-x86_64", NativeLibrary.platform("Linux", "amd64"));
        assertEquals("linux-aarch64", NativeLibrary.platform("Linux", "aarch64"));
        assertEquals("macos-x86_64", NativeLibrary.platform("Mac OS X", "x86_64"));
        assertEquals("macos-aarch64", NativeLibrary.platform("Mac OS X", "arm64"));
        assertEquals("windows-x86_64", NativeLibrary.platform("Windows 11", "amd64"));

        assertEquals(
                "native/linux-aarch64/libpaimon_writer_coordinator.so",
                NativeLibrary.resourceName("linux-aarch64"));
        assertEquals(
                "native/macos-aarch64/libpaimon_writer_coordinator.dylib",
                NativeLibrary.resourceName("macos-aarch64"));
    }

    @Test
    void s103OverrideThatDoesNotExistIsNamed() throws Exception {
        System.setProperty(NativeLibrary.LIBRARY_PROPERTY, folder.resolve("absent.so").toString());
        System.setProperty(NativeLibrary.TEMP_DIRECTORY_PROPERTY, folder.toString());
        try (Isolated isolated = new Isolated()) {
            String error = failure(isolated);

            assertContains(
                    error,
                    System.getProperty("os.name"),
                    System.getProperty("os.arch"),
                    folder.resolve("absent.so").toString(),
                    "does not exist",
                    "system property paimon.writer.coordinator.library",
                    "remove the setting");
            System.clearProperty(NativeLibrary.LIBRARY_PROPERTY);
            assertEquals(error, failure(isolated), "the error is remembered");
        }
        assertNoCopies();
    }

    @Test
    void s103UnknownPlatformIsToldWhatTheJarHolds() {
        String error = failure("sunos-sparcv9", false);

        String here =
                NativeLibrary.platform(
                        System.getProperty("os.name"), System.getProperty("os.arch"));
        assertContains(
                error,
                "the jar holds no native/sunos-sparcv9/",
                "it holds libraries for [",
                here,
                "-Dpaimon.writer.coordinator.library=");
    }

    @Test
    void s103MuslIsRefusedBeforeTheDynamicLinkerIsAsked() throws Exception {
        assertContains(
                failure("linux-x86_64", true),
                "musl",
                "glibc from 2.17 on",
                "-Dpaimon.writer.coordinator.library=");
    }

    @Test
    void s103MuslIsKnownByItsLoaderInTheProcess() throws Exception {
        Path musl = folder.resolve("musl");
        Files.writeString(
                musl,
                "7f0000000000-7f0000001000 r--p 00000000 08:01 7  /opt/java/lib/server/libjvm.so\n"
                        + "7f0000001000-7f0000002000 r--p 00000000 08:01 9 "
                        + " /lib/ld-musl-x86_64.so.1\n");
        Path glibc = folder.resolve("glibc");
        Files.writeString(
                glibc,
                "7f0000001000-7f0000002000 r--p 00000000 08:01 9  /lib64/ld-linux-x86-64.so.2\n");

        assertTrue(NativeLibrary.isMusl(musl));
        assertFalse(NativeLibrary.isMusl(glibc));
        assertFalse(NativeLibrary.isMusl(folder.resolve("absent")));
    }

    @Test
    void s103FileThatIsNoLibraryIsAClearError() throws Exception {
        Path noLibrary = Files.write(folder.resolve("no.so"), new byte[] {1, 2, 3});
        System.setProperty(NativeLibrary.LIBRARY_PROPERTY, noLibrary.toString());
        System.setProperty(NativeLibrary.TEMP_DIRECTORY_PROPERTY, folder.toString());
        try (Isolated isolated = new Isolated()) {
            assertTrue(failure(isolated).contains("UnsatisfiedLinkError"));
        }
        assertNoCopies();
    }

    @Test
    void s103TempDirectoryThatDoesNotExistIsNamed() throws Exception {
        System.setProperty(
                NativeLibrary.TEMP_DIRECTORY_PROPERTY, folder.resolve("absent").toString());
        try (Isolated isolated = new Isolated()) {
            assertContains(
                    failure(isolated),
                    folder.resolve("absent").toString(),
                    "system property paimon.writer.coordinator.tmpdir",
                    "PAIMON_WRITER_COORDINATOR_TMPDIR");
        }
    }

    @Test
    void s103TempDirectoryWithoutExecutionIsNamed() {
        File copy =
                new File(folder.toFile(), "copy.so") {
                    private static final long serialVersionUID = 1L;

                    @Override
                    public boolean setExecutable(boolean executable) {
                        return true;
                    }

                    // What a file system that is mounted noexec answers, to root as well.
                    @Override
                    public boolean canExecute() {
                        return false;
                    }
                };

        assertContains(
                NativeLibrary.refusal(copy, "the library", "the directory /tmp", new LinkageError())
                        .getMessage(),
                "the directory /tmp does not allow execution",
                "noexec",
                "PAIMON_WRITER_COORDINATOR_TMPDIR");
    }

    @Test
    void environmentVariablesNameFileAndDirectoryToo() throws Exception {
        assertContains(
                failureOfJvm(NativeLibrary.TEMP_DIRECTORY_VARIABLE),
                folder.resolve("absent").toString(),
                "environment variable PAIMON_WRITER_COORDINATOR_TMPDIR");
        assertContains(
                failureOfJvm(NativeLibrary.LIBRARY_VARIABLE),
                folder.resolve("absent").toString(),
                "environment variable PAIMON_WRITER_COORDINATOR_LIBRARY");
    }

    @Test
    void systemPropertyComesBeforeTheEnvironmentVariable() {
        System.setProperty(NativeLibrary.LIBRARY_PROPERTY, "/of/this/jvm");

        assertEquals(
                "/of/this/jvm",
                NativeLibrary.Setting.find(
                                NativeLibrary.LIBRARY_PROPERTY,
                                NativeLibrary.LIBRARY_VARIABLE,
                                Map.of(NativeLibrary.LIBRARY_VARIABLE, "/of/the/machine"))
                        .value);
    }

    @Test
    void s104h23SeveralClassLoadersLoadCopiesOfTheirOwn() throws Exception {
        System.setProperty(NativeLibrary.TEMP_DIRECTORY_PROPERTY, folder.toString());
        try (Isolated first = new Isolated();
                Isolated second = new Isolated()) {
            first.load();
            first.load();
            second.load();
        }
        assertNoCopies();
    }

    private static void assertContains(String text, String... parts) {
        for (String part : parts) {
            assertTrue(text.contains(part), () -> "no \"" + part + "\" in: " + text);
        }
    }

    private static String failure(String platform, boolean musl) {
        return assertThrows(
                        CoordinatorException.class,
                        () -> NativeLibrary.open(platform, musl).close())
                .getMessage();
    }

    /** What a JVM prints that has this environment variable, which names something absent. */
    private String failureOfJvm(String variable) throws Exception {
        Path output = folder.resolve("output");
        ProcessBuilder jvm =
                new ProcessBuilder(
                        Paths.get(System.getProperty("java.home"), "bin", "java").toString(),
                        Loading.class.getName());
        jvm.environment().put("CLASSPATH", System.getProperty("java.class.path"));
        jvm.environment().put(variable, folder.resolve("absent").toString());
        Process process = jvm.redirectErrorStream(true).redirectOutput(output.toFile()).start();
        assertNotEquals(0, process.waitFor());
        return Files.readString(output);
    }

    private static String failure(Isolated isolated) {
        InvocationTargetException error =
                assertThrows(InvocationTargetException.class, isolated::load);
        assertEquals(CoordinatorException.class.getName(), error.getCause().getClass().getName());
        return error.getCause().getMessage();
    }

    private void assertNoCopies() throws Exception {
        try (Stream<Path> files = Files.list(folder)) {
            assertEquals(
                    0, files.filter(file -> file.toString().contains("paimon_writer")).count());
        }
    }

    /** The main class of a JVM of its own. */
    static final class Loading {

        private Loading() {}

        public static void main(String[] arguments) {
            NativeLibrary.load();
        }
    }

    /** A class loader that knows our classes, with the rest of the class path as its parent. */
    private static final class Isolated implements AutoCloseable {

        private final URLClassLoader classLoader;

        Isolated() throws Exception {
            String[] entries = System.getProperty("java.class.path").split(File.pathSeparator);
            URL[] urls = new URL[entries.length];
            for (int i = 0; i < entries.length; i++) {
                urls[i] = new File(entries[i]).toURI().toURL();
            }
            classLoader = new URLClassLoader(urls, ClassLoader.getPlatformClassLoader());
        }

        void load() throws Exception {
            classLoader.loadClass(NativeLibrary.class.getName()).getMethod("load").invoke(null);
        }

        @Override
        public void close() throws Exception {
            classLoader.close();
        }
    }
}
