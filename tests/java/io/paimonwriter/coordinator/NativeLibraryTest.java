package io.paimonwriter.coordinator;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
import java.util.Arrays;
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
    void resourceNamesOfThePlatforms() {
        assertEquals(
                "native/linux-x86_64/libpaimon_writer_coordinator.so",
                NativeLibrary.resourceName("Linux", "amd64"));
        assertEquals(
                "native/linux-aarch64/libpaimon_writer_coordinator.so",
                NativeLibrary.resourceName("Linux", "aarch64"));
        assertEquals(
                "native/macos-aarch64/libpaimon_writer_coordinator.dylib",
                NativeLibrary.resourceName("Mac OS X", "arm64"));
        assertEquals(
                "native/windows-x86_64/paimon_writer_coordinator.dll",
                NativeLibrary.resourceName("Windows 11", "amd64"));
    }

    @Test
    void s103MissingLibraryListsWhatWasLookedFor() throws Exception {
        System.setProperty(NativeLibrary.LIBRARY_PROPERTY, folder.resolve("absent.so").toString());
        System.setProperty(NativeLibrary.TEMP_DIRECTORY_PROPERTY, folder.toString());
        try (Isolated isolated = new Isolated()) {
            String error = failure(isolated);

            for (String part :
                    Arrays.asList(
                            System.getProperty("os.name"),
                            System.getProperty("os.arch"),
                            "absent.so",
                            folder.toString(),
                            "NoSuchFileException",
                            "-Dpaimon.writer.coordinator.library=")) {
                assertTrue(error.contains(part), error);
            }
            System.clearProperty(NativeLibrary.LIBRARY_PROPERTY);
            assertEquals(error, failure(isolated), "the error is remembered");
        }
        assertNoCopies();
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
            assertTrue(failure(isolated).contains(folder.resolve("absent").toString()));
        }
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
